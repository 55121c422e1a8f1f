import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { useBudgets, type Shared } from '../../api/keys'
import { Badge, Card } from '../../ui/basics'
import { useFormat } from '../../ui/format'
import { Table, type Column } from '../../ui/Table'
import { BudgetBar } from './BudgetBar'

// SharedBudgets are those of organizations and teams, which all their keys spend.
export function SharedBudgets() {
  const { t } = useTranslation()
  const f = useFormat()
  const budgets = useBudgets()
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = budgets
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isFetchNextPageError) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage])
  const rows = budgets.data?.pages.flatMap((p) => p.entries ?? []).filter((b) => b.level !== 'key') ?? []
  const columns: Column<Shared>[] = [
    { id: 'id', head: t('keys.sharedBy'), width: 'minmax(140px, 1fr)', cell: (b) => <span className="stack"><strong>{b.id}</strong><span className="hint">{t(`keys.levels.${b.level}`)}</span></span> },
    { id: 'budget', head: t('keys.budget'), width: 'minmax(180px, 2fr)', cell: (b) => <BudgetBar name={b.id} budget={b} spending={b} /> },
    { id: 'left', head: t('keys.left'), number: true, width: '104px', cell: (b) => f.usd(Math.max(0, b.usd - b.spent_usd - b.reserved_usd)) },
    { id: 'resets', head: t('keys.resetsAt'), width: 'minmax(204px, 0.8fr)', cell: (b) => <time className="once" dateTime={b.resets}>{f.time(b.resets)}</time> },
    { id: 'kind', head: t('keys.kind'), width: '84px', cell: (b) => b.strict ? <Badge tone="info">{t('keys.isStrict')}</Badge> : <Badge>{t('keys.isSoft')}</Badge> },
  ]
  return (
    <Card title={t('keys.shared')}>
      <Table label={t('keys.shared')} columns={columns} rows={rows} rowKey={(b) => `${b.level}/${b.id}`} height={360}
        loading={budgets.isPending} error={budgets.error} onRetry={() => void (budgets.data ? budgets.fetchNextPage() : budgets.refetch())}
        empty={<p className="hint">{t('keys.noShared')}</p>} />
    </Card>
  )
}
