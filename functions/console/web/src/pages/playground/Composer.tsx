import { useState, type FormEvent, type KeyboardEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '../../ui/basics'

export function Composer({ ready, busy, missing, onSend, onStop }: { ready: boolean; busy: boolean; missing?: string; onSend(text: string): void; onStop(): void }) {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const able = ready && !busy && text.trim() !== ''
  const submit = (e?: FormEvent) => {
    e?.preventDefault()
    if (!able) return
    onSend(text.trim())
    setText('')
  }
  // Enter sends, except while an input method composes a word.
  const typed = (e: KeyboardEvent) => {
    if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) {
      e.preventDefault()
      submit()
    }
  }
  return (
    <form className="composer" onSubmit={submit}>
      <label className="hidden" htmlFor="message">{t('playground.message')}</label>
      <textarea id="message" rows={2} value={text} placeholder={missing ?? t('playground.placeholder')} onChange={(e) => setText(e.target.value)} onKeyDown={typed} />
      {busy
        ? <Button onClick={onStop}>{t('playground.stop')}</Button>
        : <Button type="submit" kind="primary" disabled={!able}>{t('playground.send')}</Button>}
    </form>
  )
}
