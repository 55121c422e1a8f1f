import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useFilters } from '../../api/filters'
import { useAuditLog, useAuditSessions } from '../../api/ledger'
import { Card, Page, Switch } from '../../ui/basics'
import { FilterBar } from '../../ui/FilterBar'
import { ExchangeTable } from './ExchangeTable'
import { SessionTable } from './SessionTable'

export function Sessions() {
  const { t } = useTranslation()
  const state = useFilters()
  const [grouped, setGrouped] = useState(true)
  const sessions = useAuditSessions(state.filters, grouped)
  const log = useAuditLog(state.filters, !grouped)
  return (
    <Page title={t('pages.sessions')} hint={t('sessions.hint')}
      actions={<Switch label={t('sessions.grouped')} checked={grouped} onChange={setGrouped} />}>
      <FilterBar state={state} />
      <Card>
        {grouped
          ? <SessionTable pages={sessions} state={state} />
          : <ExchangeTable pages={log} state={state} label={t('sessions.exchanges')} height={640} withSession />}
      </Card>
    </Page>
  )
}
