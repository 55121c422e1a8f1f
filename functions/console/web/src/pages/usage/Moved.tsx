import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'wouter'
import { query } from '../../api/client'
import type { Event } from '../../api/events'
import type { FilterState } from '../../api/filters'
import { useAuditLog, useAuditSessions } from '../../api/ledger'
import { Badge, Card, ErrorNote, Loading } from '../../ui/basics'
import { useFormat } from '../../ui/format'
import { short } from '../sessions/short'

const shown = 6 // sessions that moved, the latest first
const looked = 1000 // sessions among which they are looked for

// Moved tells which sessions left a warm cache, and why.
export function Moved({ state, moves }: { state: FilterState; moves: number }) {
  const { t } = useTranslation()
  const sessions = useAuditSessions(state.filters)
  const moved = sessions.rows.filter((s) => s.moves > 0).slice(0, shown)
  // The ledger counts the moves; the sessions are found among the latest ones.
  const { has, busy, load } = sessions.more
  const further = moves > 0 && moved.length < shown && has && sessions.rows.length < looked
  useEffect(() => { if (further && !busy) load() }, [further, busy, load])
  const searching = sessions.loading || (further && moved.length === 0)
  return (
    <Card title={t('moved.title')}>
      {searching && <Loading />}
      {sessions.error && <ErrorNote error={sessions.error} onRetry={sessions.retry} />}
      {!searching && !sessions.error && moved.length === 0 && <p className="hint">{t('moved.none', { count: sessions.rows.length })}</p>}
      <ul className="moved">
        {moved.map((s) => <MovedSession key={s.session_id} id={s.session_id} moves={s.moves} user={s.user_path} days={state.filters.days} />)}
      </ul>
    </Card>
  )
}

function MovedSession({ id, moves, user, days }: { id: string; moves: number; user: string; days: string }) {
  const { t } = useTranslation()
  const f = useFormat()
  const log = useAuditLog({ session_id: id })
  const all = moveList(log.rows)
  return (
    <li>
      <span className="bar tight">
        <Link href={`/sessions${query({ session_id: id, days })}`}><code>{short(id)}</code></Link>
        <span className="hint">{user || '/'}</span>
        <Badge tone="warn">{t('moved.times', { count: moves })}</Badge>
      </span>
      {log.loading && <Loading lines={1} />}
      <ul>
        {all.slice(0, 3).map((m) => (
          <li key={m.id} className="hint">
            {f.clock(m.time)} · {t('moved.fromTo', { from: m.from || '–', to: m.to })} · {m.reason ? t(`reasons.${m.reason}`, { defaultValue: m.reason }) : t('moved.unknown')}
          </li>
        ))}
      </ul>
    </li>
  )
}

export interface Move {
  id: string
  time: string
  from: string
  to: string
  reason: string
}

// moveList finds in a session's log, newest first, where it left a deployment:
// for what stood against that deployment, or for what it answered.
export function moveList(log: Event[]): Move[] {
  return log.filter((e) => e.affinity === 'moved').map((e) => {
    const wish = e.explanation?.preference
    const failed = (e.attempts ?? []).find((a) => a.deployment !== e.deployment)
    return { id: e.id, time: e.time, from: wish?.deployment ?? failed?.deployment ?? '', to: e.deployment, reason: wish?.reason || failed?.outcome || '' }
  })
}
