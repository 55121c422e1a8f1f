import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'wouter'
import { useClear, usePin, usePreferences, type LookUp, type StoredPreference } from '../../api/affinity'
import { useConfig } from '../../api/config'
import type { Event } from '../../api/events'
import { Button, Card, Empty, ErrorNote, Field, Loading, Page, Segmented } from '../../ui/basics'
import { Confirm, Dialog } from '../../ui/Dialog'
import { useFormat } from '../../ui/format'
import { Why } from '../sessions/Why'

// AffinityPage looks a session up and shows its records, why they are as they
// are, and what can be done about it.
export function AffinityPage() {
  const { t } = useTranslation()
  const [search, setSearch] = useSearchParams()
  const asked: LookUp = { session_id: search.get('session_id') ?? undefined, raw_session_id: search.get('raw_session_id') ?? undefined, key: search.get('key') ?? undefined }
  const found = usePreferences(asked)
  const idle = !asked.session_id && !(asked.raw_session_id && asked.key)
  return (
    <Page title={t('pages.affinity')} hint={t('affinity.hint')}>
      <Card title={t('affinity.lookUp')}>
        <LookUpForm asked={asked} onAsk={(q) => setSearch(Object.fromEntries(Object.entries(q).filter(([, v]) => v)) as Record<string, string>)} />
      </Card>
      {idle && <Empty title={t('affinity.idle')}>{t('affinity.idleHint')}</Empty>}
      {!idle && found.isPending && <Loading />}
      {found.error && <ErrorNote error={found.error} onRetry={() => void found.refetch()} />}
      {found.data && <Records entries={found.data.entries ?? []} />}
      {found.data?.latest && <LastDecision last={found.data.latest} />}
    </Page>
  )
}

function LookUpForm({ asked, onAsk }: { asked: LookUp; onAsk(q: LookUp): void }) {
  const { t } = useTranslation()
  const [by, setBy] = useState<'scoped' | 'raw'>(asked.raw_session_id ? 'raw' : 'scoped')
  const [id, setId] = useState(asked.session_id ?? asked.raw_session_id ?? '')
  const [key, setKey] = useState(asked.key ?? '')
  const ready = id.trim() !== '' && (by === 'scoped' || key.trim() !== '')
  const submit = (e: FormEvent) => {
    e.preventDefault()
    if (ready) onAsk(by === 'scoped' ? { session_id: id.trim() } : { raw_session_id: id.trim(), key: key.trim() })
  }
  return (
    <form className="stack loose" onSubmit={submit}>
      <Segmented hideLabel label={t('affinity.by')} value={by} onChange={setBy} options={[{ value: 'scoped', text: t('affinity.byScoped') }, { value: 'raw', text: t('affinity.byRaw') }]} />
      <div className="fields wide">
        <Field label={by === 'scoped' ? t('filters.names.session_id') : t('filters.names.raw_session_id')}>
          {(p) => <input {...p} className="mono" spellCheck={false} value={id} placeholder={by === 'scoped' ? 'scoped-…' : ''} onChange={(e) => setId(e.target.value)} />}
        </Field>
        {by === 'raw' && (
          <Field label={t('explain.key')} hint={t('affinity.keyHint')}>
            {(p) => <input {...p} value={key} onChange={(e) => setKey(e.target.value)} />}
          </Field>
        )}
      </div>
      <div><Button type="submit" kind="primary" disabled={!ready}>{t('affinity.go')}</Button></div>
    </form>
  )
}

function Records({ entries }: { entries: StoredPreference[] }) {
  const { t } = useTranslation()
  const [clearing, setClearing] = useState<StoredPreference | null>(null)
  const [pinning, setPinning] = useState<StoredPreference | null>(null)
  const clear = useClear()
  if (entries.length === 0) return <Empty title={t('affinity.none')}>{t('affinity.noneHint')}</Empty>
  return (
    <Card title={t('affinity.records')}>
      {clear.error && <ErrorNote error={clear.error} />}
      <ul className="records">
        {entries.map((p) => <Record key={p.key} record={p} onClear={() => setClearing(p)} onPin={() => setPinning(p)} />)}
      </ul>
      {clearing && (
        <Confirm title={t('affinity.clearTitle')} text={t('affinity.clearText', { deployment: clearing.deployment })} action={t('affinity.clear')} busy={clear.isPending}
          onClose={() => setClearing(null)} onDone={() => clear.mutate(clearing.key, { onSettled: () => setClearing(null) })} />
      )}
      {pinning && <PinDialog record={pinning} onClose={() => setPinning(null)} />}
    </Card>
  )
}

function Record({ record: p, onClear, onPin }: { record: StoredPreference; onClear(): void; onPin(): void }) {
  const { t } = useTranslation()
  const f = useFormat()
  return (
    <li>
      <div className="bar spread">
        <span className="stack">
          <strong>{p.deployment}</strong>
          <span className="hint">{p.endpoint} · {[...p.path, p.pool || p.model].filter((x, i, all) => all.indexOf(x) === i).join(' → ')}</span>
        </span>
        <span className="bar">
          <Button small onClick={onPin}>{t('affinity.pin')}</Button>
          <Button small onClick={onClear}>{t('affinity.clear')}</Button>
        </span>
      </div>
      <dl className="pairs">
        <div><dt>{t('affinity.expires')}</dt><dd>{p.expires ? `${f.time(p.expires)} (${f.ago(p.expires)})` : t('keys.never')}</dd></div>
        <div><dt>{t('affinity.revision')}</dt><dd><code>{p.revision}</code></dd></div>
        <div><dt>{t('affinity.record')}</dt><dd><code className="clip" title={p.key}>{p.key}</code></dd></div>
      </dl>
    </li>
  )
}

function PinDialog({ record, onClose }: { record: StoredPreference; onClose(): void }) {
  const { t } = useTranslation()
  const config = useConfig()
  const pin = usePin()
  const all = config.data?.document.deployments ?? []
  const groups = config.data?.document.groups ?? []
  const models = groups.find((g) => g.name === record.model)?.members ?? [record.model]
  const offered = all.filter((d) => models.includes(d.model))
  const list = offered.length > 0 ? offered : all
  const [deployment, setDeployment] = useState(record.deployment)
  return (
    <Dialog title={t('affinity.pinTitle')} onClose={onClose} foot={<>
      <Button onClick={onClose}>{t('ui.cancel')}</Button>
      <Button kind="primary" disabled={pin.isPending || deployment === record.deployment} onClick={() => pin.mutate({ key: record.key, deployment }, { onSuccess: onClose })}>{t('affinity.pin')}</Button>
    </>}>
      <p className="hint">{t('affinity.pinText')}</p>
      <Field label={t('columns.deployment')}>
        {(p) => <select {...p} value={deployment} onChange={(e) => setDeployment(e.target.value)}>{list.map((d) => <option key={d.id}>{d.id}</option>)}</select>}
      </Field>
      {pin.error && <ErrorNote error={pin.error} />}
    </Dialog>
  )
}

// LastDecision is why the session's latest exchange went where it went.
function LastDecision({ last }: { last: Event }) {
  const { t } = useTranslation()
  const f = useFormat()
  return (
    <Card title={t('affinity.last')}>
      <p className="hint">{f.time(last.time)} · {last.model} → {last.deployment || '–'} · {last.affinity}</p>
      {last.explanation && <Why explanation={last.explanation} />}
    </Card>
  )
}
