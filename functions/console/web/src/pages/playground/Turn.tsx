import { memo } from 'react'
import { useTranslation } from 'react-i18next'
import { isInferred } from '../../api/events'
import { Affinity, Badge } from '../../ui/basics'
import { useFormat } from '../../ui/format'
import { cost, type Price } from './caller'
import type { Facts, Failure, Message } from './dialog'

// Turn is drawn again only where it has changed: an answer that comes in leaves
// the turns before it alone.
export const Turn = memo(function Turn({ message, prices, coming }: { message: Message; prices?: Record<string, Price | null>; coming?: boolean }) {
  const { t } = useTranslation()
  if (message.role === 'user') return <article className="turn user"><h3 className="hidden">{t('playground.you')}</h3><p>{message.text}</p></article>
  if (message.role === 'tool') {
    return (
      <article className="turn tool">
        <h3>{t('playground.toolResult', { name: message.name })}</h3>
        <pre>{message.result}</pre>
      </article>
    )
  }
  return (
    <article className="turn assistant" aria-busy={coming}>
      <h3 className="hidden">{t('playground.answer')}</h3>
      {message.text && <p>{message.text}</p>}
      {coming && message.text === '' && <p className="hint">{t('playground.waiting')}</p>}
      {message.calls.map((c) => (
        <div key={c.id} className="call"><Badge tone="info">{t('playground.toolCall')}</Badge> <code>{c.name}({c.arguments})</code></div>
      ))}
      {message.failure && <FailureNote failure={message.failure} />}
      {message.facts && <FactsLine facts={message.facts} price={prices?.[message.facts.deployment]} />}
    </article>
  )
})

function FailureNote({ failure }: { failure: Failure }) {
  const { t } = useTranslation()
  if (failure.code === 'stopped') return <p className="note warn" role="status">{t('playground.stopped')}</p>
  const text = failure.message || t(failure.code === 'stream_broken' ? 'playground.broken' : failure.code === 'unreachable' ? 'ui.unreachable' : 'ui.failed', { status: failure.status })
  return (
    <div className="note bad" role="alert">
      <p>{text} {failure.status > 0 && <code className="code">{failure.status} {failure.code}</code>}</p>
      {failure.requestId && <p className="note-foot hint">{t('ui.requestId')} <code>{failure.requestId}</code></p>}
    </div>
  )
}

// FactsLine says under an answer how it was served and what it cost.
function FactsLine({ facts, price }: { facts: Facts; price?: Price | null }) {
  const { t } = useTranslation()
  const f = useFormat()
  const k = facts.tokens
  return (
    <dl className="facts">
      {facts.cache === 'hit' && <div><dt>{t('facts.gatewayCache')}</dt><dd><Badge tone="good" title={t('facts.gatewayCacheSays')}>{facts.cache}</Badge></dd></div>}
      {facts.deployment && <div><dt>{t('facts.deployment')}</dt><dd>{facts.deployment}</dd></div>}
      {facts.affinity && <div><dt>{t('facts.affinity')}</dt><dd><Affinity outcome={facts.affinity} /></dd></div>}
      {isInferred(facts.source) && <div><dt>{t('facts.session')}</dt><dd><Badge tone="info" title={t('sources.prompt')}>{t('sources.inferred')}</Badge></dd></div>}
      {k && <div><dt>{t('facts.cached')}</dt><dd>{f.count(k.cached)}<span className="unit"> {t('units.tok')}</span></dd></div>}
      {k && <div><dt>{t('facts.fresh')}</dt><dd>{f.count(k.fresh + k.written + k.written1h)}<span className="unit"> {t('units.tok')}</span></dd></div>}
      {facts.firstByteMs !== null && <div><dt>{t('facts.firstByte')}</dt><dd>{f.ms(facts.firstByteMs)}</dd></div>}
      {k && <div><dt>{t('facts.cost')}</dt><dd>{f.usd(facts.cache === 'hit' ? 0 : cost(k, price))}</dd></div>}
      {Number(facts.attempts) > 1 && <div><dt>{t('facts.attempts')}</dt><dd>{facts.attempts}</dd></div>}
      {facts.dropped && <div><dt>{t('facts.dropped')}</dt><dd>{facts.dropped}</dd></div>}
    </dl>
  )
}
