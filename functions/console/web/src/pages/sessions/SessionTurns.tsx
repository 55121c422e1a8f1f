import { useTranslation } from 'react-i18next'
import { Link } from 'wouter'
import { query } from '../../api/client'
import type { FilterState } from '../../api/filters'
import { useAuditLog } from '../../api/ledger'
import { Copy } from '../../ui/basics'
import { ExchangeTable } from './ExchangeTable'

// SessionTurns are a session's exchanges, whatever the page is filtered to.
export function SessionTurns({ session, state }: { session: string; state: FilterState }) {
  const { t } = useTranslation()
  const log = useAuditLog({ session_id: session })
  return (
    <div className="stack loose">
      <div className="bar">
        <code className="hint">{session}</code>
        <Copy text={session} label={t('sessions.copyId')} />
        <Link className="button quiet small" href={'/affinity' + query({ session_id: session })}>{t('sessions.toAffinity')}</Link>
      </div>
      <ExchangeTable pages={log} state={state} label={t('sessions.turns')} height={460} />
    </div>
  )
}
