import { useId, useState, type ButtonHTMLAttributes, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../api/client'
import { useFormat } from './format'

type Kind = 'primary' | 'plain' | 'quiet' | 'danger'

export function Button({ kind = 'plain', small, className = '', ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { kind?: Kind; small?: boolean }) {
  return <button type="button" {...rest} className={`button ${kind}${small ? ' small' : ''} ${className}`} />
}

export function Page({ title, hint, actions, children }: { title: string; hint?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <div className="page">
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {hint && <p className="hint">{hint}</p>}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function Card({ title, actions, children, className = '' }: { title?: ReactNode; actions?: ReactNode; children: ReactNode; className?: string }) {
  const id = useId()
  return (
    <section className={`card ${className}`} aria-labelledby={title ? id : undefined}>
      {title && (
        <div className="card-head">
          <h2 id={id}>{title}</h2>
          {actions && <div className="actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  )
}

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'info'

export function Badge({ tone = 'plain', children, title }: { tone?: Tone; children: ReactNode; title?: string }) {
  return <span className={`badge ${tone}`} title={title}>{children}</span>
}

// tones of affinity outcomes: what kept a cache warm is good, what left it is
// worth a look.
export function affinityTone(outcome: string): Tone {
  if (outcome === 'hit' || outcome === 'required') return 'good'
  if (outcome === 'moved' || outcome === 'spilled') return 'warn'
  if (outcome === 'degraded') return 'bad'
  return outcome === 'claimed' || outcome === 'new' ? 'info' : 'plain'
}

export function Affinity({ outcome }: { outcome: string }) {
  const { t } = useTranslation()
  if (!outcome) return null
  return <Badge tone={affinityTone(outcome)} title={t(`affinity.says.${outcome}`, { defaultValue: outcome })}>{outcome}</Badge>
}

export function Status({ status, code }: { status: number; code?: string }) {
  const tone: Tone = status === 0 || status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'
  return <Badge tone={tone}>{status === 0 ? '–' : status}{code ? ` ${code}` : ''}</Badge>
}

export function Field({ label, hint, error, children }: { label: string; hint?: ReactNode; error?: string; children: (props: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }) => ReactNode }) {
  const id = useId()
  const said = hint || error ? `${id}-said` : undefined
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': said, 'aria-invalid': error ? true : undefined })}
      {(hint || error) && <p id={said} className={error ? 'field-error' : 'hint'}>{error ?? hint}</p>}
    </div>
  )
}

export function Switch({ label, checked, onChange, disabled, hint }: { label: string; checked: boolean; onChange(on: boolean): void; disabled?: boolean; hint?: string }) {
  const id = useId()
  return (
    <span className="switch">
      <input id={id} type="checkbox" role="switch" checked={checked} disabled={disabled} onChange={(e) => onChange(e.target.checked)} aria-describedby={hint ? `${id}-hint` : undefined} />
      <label htmlFor={id}>{label}</label>
      {hint && <span id={`${id}-hint`} className="hint">{hint}</span>}
    </span>
  )
}

export function Segmented<T extends string>({ label, options, value, onChange, hideLabel }: { label: string; options: readonly { value: T; text: string }[]; value: T; onChange: (v: NoInfer<T>) => void; hideLabel?: boolean }) {
  const name = useId()
  return (
    <fieldset className="segmented">
      <legend className={hideLabel ? 'hidden' : ''}>{label}</legend>
      <div>
        {options.map((o) => (
          <label key={o.value} className={o.value === value ? 'on' : ''}>
            <input type="radio" name={name} value={o.value} checked={o.value === value} onChange={() => onChange(o.value)} />
            <span>{o.text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

export function Loading({ lines = 3 }: { lines?: number }) {
  const { t } = useTranslation()
  return (
    <div className="loading" role="status">
      <span className="hidden">{t('ui.loading')}</span>
      {Array.from({ length: lines }, (_, i) => <span key={i} className="bone" aria-hidden="true" />)}
    </div>
  )
}

export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children && <p className="hint">{children}</p>}
      {action}
    </div>
  )
}

// ErrorNote shows the server's own words, and the id by which the exchange is
// found in its log.
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useTranslation()
  const known = error instanceof ApiError ? error : undefined
  const text = known?.code === 'unreachable' ? t('ui.unreachable') : known?.message || t('ui.failed', { status: known?.status ?? '' })
  return (
    <div className="note bad" role="alert">
      <p>
        {text} {known && known.code !== 'unreachable' && <code className="code">{known.status} {known.code}</code>}
      </p>
      {known && known.problems.length > 0 && (
        <ul className="problems">
          {known.problems.map((p, i) => <li key={i} className={p.warning ? 'warn' : ''}><code>{p.path || '/'}</code> {p.message}</li>)}
        </ul>
      )}
      <p className="note-foot">
        {known?.requestId && <span className="hint">{t('ui.requestId')} <code>{known.requestId}</code></span>}
        {onRetry && <Button small onClick={onRetry}>{t('ui.retry')}</Button>}
      </p>
    </div>
  )
}

// copied puts text on the clipboard and reports whether it is there. Plain HTTP
// from another machine is no secure context: there the selection is copied, in
// the dialog that is open, as the rest of the page is inert behind it.
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'hidden'
    ;(document.querySelector('dialog[open]') ?? document.body).append(area)
    const back = document.activeElement
    area.focus()
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    if (back instanceof HTMLElement) back.focus()
    return done
  }
}

export function Copy({ text, label }: { text: string; label?: string }) {
  const { t } = useTranslation()
  const [done, setDone] = useState(false)
  const copy = async () => setDone(await copied(text))
  return <Button small kind="quiet" onClick={() => void copy()} aria-label={done ? undefined : label}>{done ? t('ui.copied') : t('ui.copy')}</Button>
}

export function Stat({ label, value, unit, foot, tone }: { label: string; value: string; unit?: string; foot?: ReactNode; tone?: 'good' }) {
  return (
    <div className={`stat ${tone ?? ''}`}>
      <dt>{label}</dt>
      <dd>{value}{unit && <span className="unit"> {unit}</span>}</dd>
      {foot && <dd className="stat-foot">{foot}</dd>}
    </div>
  )
}

// Saved is money that was not spent; it stands out where there is some.
export function Saved({ usd }: { usd: number | null | undefined }) {
  const f = useFormat()
  return <span className={usd ? 'saved' : ''}>{f.usd(usd)}</span>
}

// Meter is a bar with its numbers beside it.
export function Meter({ label, value, max, text, tone }: { label: string; value: number; max: number; text: string; tone?: Tone }) {
  const part = max > 0 ? Math.min(1, value / max) : 0
  const shown = tone ?? (part >= 1 ? 'bad' : part >= 0.8 ? 'warn' : 'good')
  return (
    <div className="meter">
      <div className="meter-bar" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={max} aria-valuenow={Math.min(value, max)} aria-valuetext={text}>
        <svg aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 1"><rect className={`fill ${shown}`} width={part * 100} height="1" /></svg>
      </div>
      <span className="meter-text">{text}</span>
    </div>
  )
}
