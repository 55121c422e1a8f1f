import { useTranslation } from 'react-i18next'
import type { Sums } from '../../api/ledger'
import { Stat } from '../../ui/basics'
import { useFormat } from '../../ui/format'

// Story is the page at a glance: what was saved, by how much of the input came
// from a cache, and how often a session had to move.
export function Story({ totals: s }: { totals: Sums }) {
  const { t } = useTranslation()
  const f = useFormat()
  const cost = s.total_cost ?? s.known_cost
  const without = cost === null || s.saved_cost === null ? null : cost + s.saved_cost
  return (
    <section className="story" aria-label={t('usage.glance')}>
      <dl>
        <Stat tone="good" label={t('usage.saved')} value={f.usd(s.saved_cost)}
          foot={without !== null && without > 0 ? t('usage.savedOf', { share: f.share((s.saved_cost ?? 0) / without), without: f.usd(without) }) : undefined} />
        <Stat label={t('usage.cachedShare')} value={f.share(s.cache_hit_rate)}
          foot={t('usage.cachedOf', { cached: f.compact(s.cached_tokens), input: f.compact(s.input_tokens) })} />
        <Stat label={t('usage.cost')} value={f.usd(cost)}
          foot={s.unpriced_requests > 0 ? t('usage.unpriced', { count: s.unpriced_requests }) : t('usage.costEach', { each: f.usd(cost === null || s.requests === 0 ? null : cost / s.requests) })} />
        <Stat label={t('usage.requests')} value={f.count(s.requests)}
          foot={t('usage.failedOf', { failed: f.count(s.failed), moved: f.count(s.moves) })} />
      </dl>
    </section>
  )
}
