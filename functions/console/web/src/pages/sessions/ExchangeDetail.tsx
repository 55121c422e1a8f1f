import { useTranslation } from 'react-i18next'
import { isInferred, type Event } from '../../api/events'
import { Affinity, Badge, Status } from '../../ui/basics'
import { useFormat } from '../../ui/format'
import { Why } from './Why'

// ExchangeDetail tells one turn: what was asked for, what served it, what was
// tried, and why.
export function ExchangeDetail({ event: e }: { event: Event }) {
  const { t } = useTranslation()
  const f = useFormat()
  const attempts = e.attempts ?? []
  return (
    <div className="exchange">
      <dl className="pairs">
        <div><dt>{t('detail.asked')}</dt><dd>{e.endpoint} · {e.model || '–'}</dd></div>
        <div><dt>{t('detail.served')}</dt><dd>{e.deployment || '–'}{e.upstream_model && <span className="hint"> {e.provider} · {e.upstream_model}</span>}</dd></div>
        <div><dt>{t('detail.source')}</dt><dd>{e.session_source || '–'}{e.session_signal && <span className="hint"> {e.session_signal}</span>} {isInferred(e.session_source) && <Badge tone="info" title={t('sources.prompt')}>{t('sources.inferred')}</Badge>}</dd></div>
        <div><dt>{t('detail.affinity')}</dt><dd>{e.affinity ? <><Affinity outcome={e.affinity} /> <span className="hint">{t(`affinity.says.${e.affinity}`, { defaultValue: '' })}</span></> : '–'}</dd></div>
        {e.cache && <div><dt>{t('facts.gatewayCache')}</dt><dd><Badge tone="good">{e.cache}</Badge> <span className="hint">{t('facts.gatewayCacheSays')}</span></dd></div>}
        {e.lane && <div><dt>{t('detail.lane')}</dt><dd><code>{e.lane.slice(0, 12)}</code></dd></div>}
        <div><dt>{t('detail.key')}</dt><dd>{e.key || '–'}</dd></div>
        <div><dt>{t('detail.requestId')}</dt><dd><code>{e.request_id}</code></dd></div>
        {e.error_code && <div><dt>{t('detail.error')}</dt><dd><Status status={e.status} code={e.error_code} /></dd></div>}
        {e.usage && <div><dt>{t('detail.tokens')}</dt><dd>{t('detail.tokensSaid', { cached: f.count(e.usage.cache_read), fresh: f.count(e.usage.input), written: f.count(e.usage.cache_write_5m + e.usage.cache_write_1h), output: f.count(e.usage.output) })}{e.usage.estimated && <Badge>{t('detail.estimated')}</Badge>}</dd></div>}
        <div><dt>{t('detail.cost')}</dt><dd>{f.usd(e.cost?.total)} <span className="hint">{t('detail.savedSaid', { saved: f.usd(e.saved_cost) })}</span></dd></div>
        <div><dt>{t('detail.duration')}</dt><dd>{f.ms(e.duration_ms)}</dd></div>
        {(e.labels?.length ?? 0) > 0 && <div><dt>{t('detail.labels')}</dt><dd>{e.labels?.join(', ')}</dd></div>}
      </dl>
      {attempts.length > 0 && (
        <div>
          <h3>{t('detail.attempts')}</h3>
          <ol className="attempts">
            {attempts.map((a, i) => (
              <li key={i}>
                <span className="hint">{i + 1}.</span> <span>{a.deployment}</span> <Badge tone={a.outcome === 'success' || a.outcome === 'ok' ? 'good' : 'bad'}>{a.outcome}</Badge>
                {a.status > 0 && <span className="hint">HTTP {a.status}</span>} <span className="hint">{f.ms(a.ms)}</span>
              </li>
            ))}
          </ol>
        </div>
      )}
      {e.explanation && <Why explanation={e.explanation} />}
    </div>
  )
}
