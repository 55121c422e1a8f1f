import { useEffect, useId, useRef, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from './basics'

// Dialog is the browser's own: it holds the focus, closes on Escape and makes
// the rest of the page inert.
export function Dialog({ title, onClose, children, foot }: { title: string; onClose(): void; children: ReactNode; foot?: ReactNode }) {
  const { t } = useTranslation()
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={(e) => { e.preventDefault(); onClose() }}>
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" small onClick={onClose} aria-label={t('ui.close')}>✕</Button>
      </div>
      <div className="dialog-body">{children}</div>
      {foot && <div className="dialog-foot">{foot}</div>}
    </dialog>
  )
}

// Confirm asks before what cannot be taken back.
export function Confirm({ title, text, action, danger, onDone, onClose, busy }: { title: string; text: ReactNode; action: string; danger?: boolean; onDone(): void; onClose(): void; busy?: boolean }) {
  const { t } = useTranslation()
  return (
    <Dialog title={title} onClose={onClose} foot={<>
      <Button onClick={onClose}>{t('ui.cancel')}</Button>
      <Button kind={danger ? 'danger' : 'primary'} onClick={onDone} disabled={busy}>{action}</Button>
    </>}>
      <div>{text}</div>
    </Dialog>
  )
}
