import { useTranslation } from 'react-i18next'
import { Link } from 'wouter'
import { query } from '../../api/client'
import { isInferred } from '../../api/events'
import { Badge, Copy, Switch } from '../../ui/basics'
import type { Caller } from './caller'
import type { Conversation } from './conversation'

// SessionBar says which session the conversation belongs to: the id of its own
// or, without it, the one that the gateway has inferred.
export function SessionBar({ conversation, caller, admin, onOwn }: { conversation: Conversation; caller?: Caller; admin: boolean; onOwn(own: boolean): void }) {
  const { t } = useTranslation()
  const facts = conversation.messages.findLast((m) => m.role === 'assistant' && m.facts?.session)
  const seen = facts?.role === 'assistant' ? facts.facts : undefined
  const id = conversation.own ? conversation.id : seen?.session ?? ''
  return (
    <div className="session-bar">
      <div className="bar">
        <span className="session-id">
          <span className="hint">{t('playground.session')}</span>{' '}
          {id ? <code data-testid="session-id">{id}</code> : <span className="hint">{t('playground.inferLater')}</span>}
          {!conversation.own && id && seen && isInferred(seen.source) && <> <Badge tone="info" title={t('sources.prompt')}>{t('sources.inferred')}</Badge></>}
        </span>
        {id && <Copy text={id} label={t('playground.copyId')} />}
        {admin && id && caller && conversation.messages.length > 0 && (
          <Link className="button quiet small" href={`/sessions${query({ raw_session_id: id, key: caller.id, days: 7 })}`}>{t('playground.inLog')}</Link>
        )}
      </div>
      <Switch label={t('playground.own')} hint={conversation.own ? undefined : t('playground.ownOff')} checked={conversation.own} onChange={onOwn} />
    </div>
  )
}
