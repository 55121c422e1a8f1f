import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'wouter'
import { query } from '../../api/client'
import { isInferred, type AuditSession } from '../../api/events'
import type { FilterState } from '../../api/filters'
import type { Pages } from '../../api/ledger'
import { Icon } from '../../app/icons'
import { Badge, Empty, Saved } from '../../ui/basics'
import { Pick } from '../../ui/FilterBar'
import { useFormat } from '../../ui/format'
import { Table, type Column } from '../../ui/Table'
import { SessionTurns } from './SessionTurns'
import { short } from './short'

// usageOf is the address of the Usage page for one session.
export function usageOf(session: string, days: string): string {
  return '/usage' + query({ session_id: session, days })
}

export function SessionTable({ pages, state }: { pages: Pages<AuditSession>; state: FilterState }) {
  const { t } = useTranslation()
  const f = useFormat()
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const { days } = state.filters
  const toggle = (id: string) => setOpen((now) => {
    const next = new Set(now)
    if (!next.delete(id)) next.add(id)
    return next
  })
  const columns: Column<AuditSession>[] = [
    {
      id: 'session', head: t('columns.session'), width: 'minmax(176px, 1.7fr)',
      cell: (s) => (
        <span className="stack">
          <span className="bar tight">
            <code title={s.session_id}>{short(s.session_id)}</code>
            <Link className="count" href={usageOf(s.session_id, days)} title={t('sessions.usageOf')} aria-label={t('sessions.countUsage', { count: s.request_count, shown: f.count(s.request_count) })}>{f.count(s.request_count)}</Link>
            {isInferred(s.latest.session_source) && <Badge tone="info" title={t('sources.prompt')}>{t('sources.inferred')}</Badge>}
          </span>
          <span className="hint clip" title={s.user_path}>{f.ago(s.latest.time)} · {s.user_path || '/'}</span>
        </span>
      ),
    },
    {
      id: 'models', head: t('columns.models'), width: 'minmax(122px, 1.2fr)',
      cell: (s) => <span className="stack">{(s.models ?? [s.latest.model]).map((m) => <Pick key={m} name="model" value={m} state={state} />)}</span>,
    },
    {
      id: 'deployments', head: t('columns.deployments'), width: 'minmax(104px, 1.1fr)',
      cell: (s) => s.deployments?.length ? <span className="stack">{s.deployments.map((d) => <Pick key={d} name="deployment" value={d} state={state} />)}</span> : <span className="hint">–</span>,
    },
    { id: 'moves', head: t('columns.moves'), number: true, width: '52px', cell: (s) => s.moves > 0 ? <Badge tone="warn">{f.count(s.moves)}</Badge> : f.count(0) },
    { id: 'tokens', head: t('columns.tokens'), number: true, width: '66px', cell: (s) => f.compact(s.total_tokens) },
    { id: 'cached', head: t('columns.cached'), number: true, width: '60px', cell: (s) => f.share(s.input_tokens > 0 ? s.cached_tokens / s.input_tokens : null) },
    { id: 'cost', head: t('columns.cost'), number: true, width: '72px', cell: (s) => f.usd(s.total_cost) },
    { id: 'saved', head: t('columns.saved'), number: true, width: '72px', cell: (s) => <Saved usd={s.saved_cost} /> },
    {
      id: 'chart', head: t('columns.usage'), number: true, width: '56px',
      cell: (s) => <Link className="icon-link" href={usageOf(s.session_id, days)} title={t('sessions.usageOf')} aria-label={t('sessions.usageOfNamed', { session: short(s.session_id) })}><Icon name="chart" /></Link>,
    },
  ]
  return (
    <Table label={t('pages.sessions')} columns={columns} rows={pages.rows} total={pages.total} rowKey={(s) => s.session_id} height={640}
      name={(s) => short(s.session_id)} open={open} onToggle={toggle} detail={(s) => <SessionTurns session={s.session_id} state={state} />}
      loading={pages.loading} error={pages.error} onRetry={pages.retry} more={pages.more}
      empty={<Empty title={t('sessions.empty')} action={<Link className="button" href="/playground">{t('sessions.toPlayground')}</Link>}>{t('sessions.emptyHint')}</Empty>} />
  )
}
