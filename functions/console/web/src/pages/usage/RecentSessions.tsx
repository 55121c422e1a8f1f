import { useTranslation } from 'react-i18next'
import { Link } from 'wouter'
import { query } from '../../api/client'
import type { UsageSession } from '../../api/events'
import type { FilterState } from '../../api/filters'
import { useUsageSessions } from '../../api/ledger'
import { Card, Empty, Saved } from '../../ui/basics'
import { Pick } from '../../ui/FilterBar'
import { useFormat } from '../../ui/format'
import { Table, type Column } from '../../ui/Table'
import { short } from '../sessions/short'

export function RecentSessions({ state }: { state: FilterState }) {
  const { t } = useTranslation()
  const f = useFormat()
  const pages = useUsageSessions(state.filters)
  const columns: Column<UsageSession>[] = [
    { id: 'session', head: t('columns.session'), width: 'minmax(112px, 1fr)', cell: (s) => <Pick name="session_id" value={s.session_id} state={state}>{short(s.session_id)}</Pick> },
    { id: 'user', head: t('columns.user'), width: 'minmax(130px, 1.4fr)', cell: (s) => <Pick name="user_path" value={s.user_path} state={state} /> },
    { id: 'requests', head: t('usage.requests'), number: true, width: '72px', cell: (s) => f.count(s.requests) },
    { id: 'input', head: t('columns.input'), unit: t('units.tok'), number: true, width: '84px', cell: (s) => f.compact(s.input_tokens) },
    { id: 'cached', head: t('columns.cached'), number: true, width: '64px', cell: (s) => f.share(s.input_tokens > 0 ? s.cached_tokens / s.input_tokens : null) },
    { id: 'output', head: t('columns.output'), unit: t('units.tok'), number: true, width: '84px', cell: (s) => f.compact(s.output_tokens) },
    { id: 'cost', head: t('columns.cost'), number: true, width: '76px', cell: (s) => f.usd(s.total_cost) },
    { id: 'saved', head: t('columns.saved'), number: true, width: '76px', cell: (s) => <Saved usd={s.saved_cost} /> },
    { id: 'log', head: '', width: '72px', cell: (s) => <Link className="button quiet small" href={`/sessions${query({ session_id: s.session_id, days: state.filters.days })}`} aria-label={t('usage.turnsOf', { session: short(s.session_id) })}>{t('usage.turns')}</Link> },
  ]
  return (
    <Card title={t('usage.recent')}>
      <Table label={t('usage.recent')} columns={columns} rows={pages.rows} total={pages.total} rowKey={(s) => s.session_id} height={520}
        loading={pages.loading} error={pages.error} onRetry={pages.retry} more={pages.more}
        empty={<Empty title={t('sessions.empty')}>{t('sessions.emptyHint')}</Empty>} />
    </Card>
  )
}
