import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useSignIn } from '../api/session'
import { holdKey } from '../pages/playground/key'
import { Button, ErrorNote, Field } from '../ui/basics'
import { Mark } from './icons'
import { Preferences } from './Preferences'

export function SignIn({ demo }: { demo?: string }) {
  const { t } = useTranslation()
  const [key, setKey] = useState('')
  const signIn = useSignIn()
  const signing = useMutation({
    mutationFn: async (typed: string) => {
      const session = await signIn(typed)
      if (session.role === 'key') holdKey(typed)
    },
  })
  const submit = (e: FormEvent) => {
    e.preventDefault()
    signing.mutate(key.trim())
  }
  return (
    <main className="alone">
      <form className="sign-in" onSubmit={submit}>
        <p className="brand"><Mark /> Holdfast</p>
        <h1>{t('signIn.title')}</h1>
        <p className="hint">{t('signIn.hint')}</p>
        <Field label={t('signIn.key')}>
          {(p) => <input {...p} type="password" autoComplete="current-password" name="key" required autoFocus spellCheck={false} value={key} onChange={(e) => setKey(e.target.value)} />}
        </Field>
        {signing.error && <ErrorNote error={signing.error} />}
        <Button type="submit" kind="primary" disabled={signing.isPending || key.trim() === ''}>{t('signIn.go')}</Button>
        {demo && (
          <p className="hint demo-hint">
            {t('signIn.demo')} <Button small kind="quiet" onClick={() => signing.mutate(demo)}>{t('signIn.useDemo')}</Button>
          </p>
        )}
      </form>
      <Preferences />
    </main>
  )
}
