import { useTranslation } from 'react-i18next'
import { query } from '../../api/client'
import { useFilters, type Filters } from '../../api/filters'
import { useSummary } from '../../api/ledger'
import { Empty, ErrorNote, Loading, Page } from '../../ui/basics'
import { FilterBar } from '../../ui/FilterBar'
import { Charts } from './Charts'
import { Moved } from './Moved'
import { Parts } from './Parts'
import { RecentSessions } from './RecentSessions'
import { Story } from './Story'

export function Usage() {
  const { t } = useTranslation()
  const state = useFilters()
  const summary = useSummary(state.filters)
  return (
    <Page title={t('pages.usage')} hint={t('usage.hint')} actions={<>
      <a className="button" download href={csv('/admin/usage/summary', state.filters)}>{t('usage.csvSummary')}</a>
      <a className="button" download href={csv('/admin/usage/sessions', state.filters)}>{t('usage.csvSessions')}</a>
    </>}>
      <FilterBar state={state} />
      {summary.isPending && <Loading lines={8} />}
      {summary.error && <ErrorNote error={summary.error} onRetry={() => void summary.refetch()} />}
      {summary.data && summary.data.totals.requests === 0 && <Empty title={t('usage.empty')}>{t('usage.emptyHint')}</Empty>}
      {summary.data && summary.data.totals.requests > 0 && (
        <>
          <Story totals={summary.data.totals} />
          {summary.data.partial && <p className="note warn">{t('usage.partial')}</p>}
          <Charts summary={summary.data} />
          <Moved state={state} moves={summary.data.totals.moves} />
          <Parts summary={summary.data} state={state} />
          <RecentSessions state={state} />
        </>
      )}
    </Page>
  )
}

// csv is where a report is saved from, as it is filtered.
export function csv(path: string, filters: Filters): string {
  return path + query({ ...filters, format: 'csv' })
}
