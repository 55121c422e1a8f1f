import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useConfig } from '../../api/config'
import { useBudgets, useChangeKey, useKeys, useRemoveKey, type Key } from '../../api/keys'
import { Badge, Button, Card, Empty, ErrorNote, Page, Switch } from '../../ui/basics'
import { Confirm } from '../../ui/Dialog'
import { useFormat } from '../../ui/format'
import { Table, type Column } from '../../ui/Table'
import { BudgetBar } from './BudgetBar'
import { KeyForm } from './KeyForm'
import { Secret } from './Secret'
import { SharedBudgets } from './SharedBudgets'

export function Keys() {
  const { t } = useTranslation()
  const keys = useKeys()
  const [making, setMaking] = useState(false)
  const [editing, setEditing] = useState<Key | null>(null)
  const [removing, setRemoving] = useState<Key | null>(null)
  const [made, setMade] = useState<Key | null>(null)
  const change = useChangeKey()
  const remove = useRemoveKey()
  const rows = (keys.data?.pages.flatMap((p) => p.entries ?? []) ?? []).filter((k) => k.source === 'stored')
  // A switch shows at once what was asked for, and the truth with the answer.
  const isOn = (k: Key) => (change.isPending && change.variables.id === k.id ? (change.variables.fields.enabled ?? k.enabled) : k.enabled)
  const columns: Column<Key>[] = [
    ...describing(t),
    {
      id: 'enabled', head: t('keys.enabled'), width: '84px',
      cell: (k) => <Switch label={isOn(k) ? t('form.on') : t('form.off')} checked={isOn(k)} disabled={change.isPending} onChange={(enabled) => change.mutate({ id: k.id, fields: { enabled } })} />,
    },
    {
      id: 'act', head: t('columns.actions'), width: '156px',
      cell: (k) => (
        <span className="bar tight">
          <Button small onClick={() => setEditing(k)} aria-label={t('keys.editNamed', { id: k.id })}>{t('keys.edit')}</Button>
          <Button small kind="quiet" onClick={() => setRemoving(k)} aria-label={t('keys.removeNamed', { id: k.id })}>{t('keys.remove')}</Button>
        </span>
      ),
    },
  ]
  return (
    <Page title={t('pages.keys')} hint={t('keys.hint')} actions={<Button kind="primary" onClick={() => setMaking(true)}>{t('keys.create')}</Button>}>
      {(change.error ?? remove.error) && <ErrorNote error={change.error ?? remove.error} />}
      <Card title={t('keys.stored')}>
        <Table label={t('keys.stored')} columns={columns} rows={rows} rowKey={(k) => k.id} height={560}
          loading={keys.isPending} error={keys.error} onRetry={() => void keys.refetch()}
          more={{ has: keys.hasNextPage, busy: keys.isFetchingNextPage, load: () => void keys.fetchNextPage() }}
          empty={<Empty title={t('keys.none')} action={<Button onClick={() => setMaking(true)}>{t('keys.create')}</Button>}>{t('keys.noneHint')}</Empty>} />
      </Card>
      <SharedBudgets />
      <Configured />
      {making && <KeyForm onClose={() => setMaking(false)} onDone={(k) => { setMaking(false); setMade(k) }} />}
      {editing && <KeyForm known={editing} onClose={() => setEditing(null)} onDone={() => setEditing(null)} />}
      {made?.key && <Secret made={made} onClose={() => setMade(null)} />}
      {removing && (
        <Confirm danger title={t('keys.removeTitle', { id: removing.id })} text={t('keys.removeText')} action={t('keys.remove')} busy={remove.isPending}
          onClose={() => setRemoving(null)} onDone={() => remove.mutate(removing.id, { onSettled: () => setRemoving(null) })} />
      )}
    </Page>
  )
}

type Translate = ReturnType<typeof useTranslation>['t']

// describing are the columns of stored and configured keys alike.
function describing(t: Translate): Column<Key>[] {
  return [
    {
      id: 'id', head: t('keys.id'), width: 'minmax(140px, 1.2fr)',
      cell: (k) => <span className="stack"><strong>{k.id}</strong><span className="hint clip" title={k.user_path}>{k.user_path || '–'}</span></span>,
    },
    { id: 'models', head: t('keys.models'), width: 'minmax(110px, 1fr)', cell: (k) => k.models === null || k.models.includes('*') ? <Badge>{t('keys.all')}</Badge> : k.models.length === 0 ? '–' : k.models.join(', ') },
    { id: 'budget', head: t('keys.budget'), width: 'minmax(168px, 1.3fr)', cell: (k) => k.budget ? <BudgetBar name={k.id} budget={k.budget} spending={k.spending} /> : <span className="hint">{t('keys.noBudget')}</span> },
    { id: 'limits', head: t('keys.limits'), width: 'minmax(120px, 0.9fr)', cell: (k) => <Limits limits={k.limits} /> },
    { id: 'expires', head: t('keys.expires'), width: '108px', cell: (k) => k.expires ? <Expiry at={k.expires} /> : <span className="hint">{t('keys.never')}</span> },
  ]
}

function Limits({ limits }: { limits: Key['limits'] }) {
  const { t } = useTranslation()
  const f = useFormat()
  if (!limits.rpm && !limits.tpm) return <span className="hint">{t('keys.noLimits')}</span>
  return (
    <span className="stack">
      {!!limits.rpm && <span>{f.count(limits.rpm)} <span className="unit">{t('keys.rpm')}</span></span>}
      {!!limits.tpm && <span>{f.compact(limits.tpm)} <span className="unit">{t('keys.tpm')}</span></span>}
    </span>
  )
}

function Expiry({ at }: { at: string }) {
  const { t } = useTranslation()
  const over = new Date(at).getTime() <= Date.now()
  return over ? <Badge tone="bad">{t('keys.expired')}</Badge> : <span>{at.slice(0, 10)}</span>
}

// Configured are the keys of the configuration document, changed there.
function Configured() {
  const { t } = useTranslation()
  const config = useConfig()
  const budgets = useBudgets()
  const spending = new Map(budgets.data?.pages.flatMap((p) => p.entries ?? []).filter((b) => b.level === 'key').map((b) => [b.id, b]))
  const rows = (config.data?.document.keys ?? []).map((k): Key => ({
    id: k.id, source: 'configuration', user: k.user ?? '', team: k.team ?? '', organization: k.organization ?? '', user_path: '/' + [k.organization, k.team, k.user].filter(Boolean).join('/'), models: k.models ?? null, template: k.template ?? '',
    budget: k.budget ?? null, limits: { rpm: k.limits?.rpm ?? 0, tpm: k.limits?.tpm ?? 0 }, enabled: k.enabled ?? true, expires: k.expires ?? '', spending: spending.get(k.id),
  }))
  const columns: Column<Key>[] = [...describing(t), { id: 'enabled', head: t('keys.enabled'), width: '84px', cell: (k) => k.enabled ? <Badge tone="good">{t('form.on')}</Badge> : <Badge>{t('form.off')}</Badge> }]
  return (
    <Card title={t('keys.configured')}>
      <Table label={t('keys.configured')} columns={columns} rows={rows} rowKey={(k) => k.id} height={360}
        loading={config.isPending} error={config.error} onRetry={() => void config.refetch()} empty={<p className="hint">{t('keys.noConfigured')}</p>} />
    </Card>
  )
}
