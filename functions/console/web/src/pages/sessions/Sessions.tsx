import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useFilters } from '../../api/filters'
import { useAuditLog, useAuditSessions, useUsageSessions } from '../../api/ledger'
import { Card, Page, Switch } from '../../ui/basics'
import { FilterBar } from '../../ui/FilterBar'
import { ExchangeTable } from './ExchangeTable'
import { SessionTable } from './SessionTable'

export function Sessions() {
  const { t } = useTranslation()
  const state = useFilters()
  const [grouped, setGrouped] = useState(true)
  const sessions = useAuditSessions(state.filters, grouped)
  const usage = useUsageSessions(state.filters, grouped)
  const log = useAuditLog(state.filters, !grouped)
  const byId = useMemo(() => new Map(usage.rows.map((u) => [u.session_id, u])), [usage.rows])

  // Both reports are in the same order: what one shows, the other has sums for.
  const { more } = sessions
  const both = { ...more, load: () => { more.load(); if (usage.more.has && !usage.more.busy) usage.more.load() } }
  return (
    <Page title={t('pages.sessions')} hint={t('sessions.hint')}
      actions={<Switch label={t('sessions.grouped')} checked={grouped} onChange={setGrouped} />}>
      <FilterBar state={state} />
      <Card>
        {grouped
          ? <SessionTable pages={{ ...sessions, more: both }} usage={byId} state={state} />
          : <ExchangeTable pages={log} state={state} label={t('sessions.exchanges')} height={640} withSession />}
      </Card>
    </Page>
  )
}
