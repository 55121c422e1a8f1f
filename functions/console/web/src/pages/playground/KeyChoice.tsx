import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { Button, Field } from '../../ui/basics'
import type { Caller } from './caller'
import { holdKey, masked } from './key'

// KeyChoice is the API key that requests are sent with, for admins too: the
// playground acts in that key's scope, as its owner's programs do.
export function KeyChoice({ held, demo, caller }: { held: string; demo?: string; caller?: Caller }) {
  const { t } = useTranslation()
  const [typed, setTyped] = useState('')
  if (held !== '') {
    return (
      <div className="stack">
        <div className="bar spread">
          <code>{masked(held)}</code>
          <Button small onClick={() => holdKey('')}>{t('playground.otherKey')}</Button>
        </div>
        {caller && <p className="hint">{t('playground.actsAs', { id: caller.id, path: caller.user_path || '/' })}</p>}
      </div>
    )
  }
  const submit = (e: FormEvent) => {
    e.preventDefault()
    if (typed.trim() !== '') holdKey(typed.trim())
  }
  return (
    <form className="stack loose" onSubmit={submit}>
      <Field label={t('playground.apiKey')} hint={t('playground.keyHint')}>
        {(p) => <input {...p} type="password" autoComplete="off" spellCheck={false} value={typed} onChange={(e) => setTyped(e.target.value)} />}
      </Field>
      <div className="bar">
        <Button type="submit" small kind="primary" disabled={typed.trim() === ''}>{t('playground.useKey')}</Button>
        {demo && <Button small onClick={() => holdKey(demo)}>{t('playground.useDemo')}</Button>}
      </div>
    </form>
  )
}
