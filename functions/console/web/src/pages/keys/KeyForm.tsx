import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../../api/client'
import type { Budget } from '../../api/config'
import { useChangeKey, useMakeKey, type Fields, type Key } from '../../api/keys'
import { Button, ErrorNote, Field, Switch } from '../../ui/basics'
import { Dialog } from '../../ui/Dialog'

interface Draft {
  id: string
  user: string
  team: string
  models: string
  template: string
  usd: string
  period: Budget['period']
  strict: boolean
  rpm: string
  tpm: string
  strictLimits: boolean
  expires: string
}

export function draftOf(k?: Key): Draft {
  const n = (v?: number) => (v ? String(v) : '')
  return {
    id: k?.id ?? '', user: k?.user ?? '', team: k?.team ?? '', models: (k?.models ?? []).join(', '), template: k?.template ?? '',
    usd: n(k?.budget?.usd), period: k?.budget?.period ?? 'monthly', strict: k?.budget?.strict ?? false,
    rpm: n(k?.limits.rpm), tpm: n(k?.limits.tpm), strictLimits: k?.limits.strict ?? false, expires: k?.expires.slice(0, 10) ?? '',
  }
}

// fieldsOf is what is sent: of a new key what is filled in, of a known one what
// was changed. A field left alone stays as it is, also where the form shows less
// of it than there is.
export function fieldsOf(d: Draft, was: Draft = draftOf()): Fields {
  const changed = (...names: (keyof Draft)[]) => names.some((name) => d[name] !== was[name])
  const models = d.models.split(',').map((x) => x.trim()).filter(Boolean)
  return {
    ...(changed('id') ? { id: d.id } : {}),
    ...(changed('user') ? { user: d.user } : {}),
    ...(changed('team') ? { team: d.team } : {}),
    ...(changed('template') ? { template: d.template } : {}),
    ...(changed('models') ? { models: models.length > 0 ? models : ['*'] } : {}),
    ...(changed('usd', 'period', 'strict') && (d.usd !== '' || was.usd !== '') ? { budget: d.usd === '' ? null : { usd: Number(d.usd), period: d.period, ...(d.strict ? { strict: true } : {}) } } : {}),
    ...(changed('rpm', 'tpm', 'strictLimits') ? { limits: { rpm: Number(d.rpm || 0), tpm: Number(d.tpm || 0), ...(d.strictLimits ? { strict: true } : {}) } } : {}),
    ...(changed('expires') ? { expires: d.expires } : {}),
  }
}

export function KeyForm({ known, onClose, onDone }: { known?: Key; onClose(): void; onDone(k: Key): void }) {
  const { t } = useTranslation()
  const [d, setD] = useState(() => draftOf(known))
  const make = useMakeKey()
  const change = useChangeKey()
  const busy = make.isPending || change.isPending
  const error = make.error ?? change.error
  const wrong = (path: string) => (error instanceof ApiError ? error.problems.find((p) => p.path === path || p.path.startsWith(path + '.'))?.message : undefined)
  const set = (more: Partial<Draft>) => setD((now) => ({ ...now, ...more }))
  const submit = (e: FormEvent) => {
    e.preventDefault()
    if (known) change.mutate({ id: known.id, fields: fieldsOf(d, draftOf(known)) }, { onSuccess: onDone })
    else make.mutate(fieldsOf(d), { onSuccess: onDone })
  }
  const text = (name: 'id' | 'user' | 'team' | 'models' | 'template', hint?: string, disabled?: boolean) => (
    <Field label={t(`keys.${name}`)} hint={hint} error={wrong(name)}>
      {(p) => <input {...p} disabled={disabled} autoComplete="off" value={d[name]} onChange={(e) => set({ [name]: e.target.value })} />}
    </Field>
  )
  const number = (name: 'usd' | 'rpm' | 'tpm', label: string, path: string) => (
    <Field label={label} error={wrong(path)}>
      {(p) => <input {...p} type="number" min={0} step={name === 'usd' ? 'any' : 1} value={d[name]} onChange={(e) => set({ [name]: e.target.value })} />}
    </Field>
  )
  return (
    <Dialog title={known ? t('keys.editTitle', { id: known.id }) : t('keys.create')} onClose={onClose} foot={<>
      <Button onClick={onClose}>{t('ui.cancel')}</Button>
      <Button kind="primary" type="submit" form="key-form" disabled={busy}>{known ? t('edit.save') : t('keys.create')}</Button>
    </>}>
      <form id="key-form" className="stack loose" onSubmit={submit}>
        <div className="fields">
          {text('id', known ? undefined : t('keys.idHint'), !!known)}
          {text('user')}
          {text('team')}
          {text('models', t('keys.modelsHint'))}
          {text('template')}
          <Field label={t('keys.expires')} hint={t('keys.expiresHint')} error={wrong('expires')}>
            {(p) => <input {...p} type="date" value={d.expires} onChange={(e) => set({ expires: e.target.value })} />}
          </Field>
        </div>
        <div className="fields">
          {number('usd', t('keys.usd'), 'budget')}
          <Field label={t('keys.period')}>
            {(p) => <select {...p} value={d.period} onChange={(e) => set({ period: e.target.value as Budget['period'] })}>{(['daily', 'weekly', 'monthly'] as const).map((x) => <option key={x} value={x}>{t(`periods.${x}`)}</option>)}</select>}
          </Field>
          {number('rpm', t('keys.rpmLong'), 'limits')}
          {number('tpm', t('keys.tpmLong'), 'limits')}
        </div>
        <Switch label={t('keys.strict')} hint={t('keys.strictHint')} checked={d.strict} onChange={(strict) => set({ strict })} />
        <Switch label={t('keys.strictLimits')} hint={t('keys.strictLimitsHint')} checked={d.strictLimits} onChange={(strictLimits) => set({ strictLimits })} />
        {error && <ErrorNote error={error} />}
      </form>
    </Dialog>
  )
}
