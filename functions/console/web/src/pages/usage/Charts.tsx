import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import type { Summary } from '../../api/ledger'
import { Figure } from '../../charts/Figure'
import { useFormat } from '../../ui/format'

const shown = 5 // deployments beside the whole, those with the most input

export function Charts({ summary }: { summary: Summary }) {
  const { t } = useTranslation()
  const f = useFormat()
  const hourly = summary.by === 'hour'
  const of = useMemo(() => {
    const points = summary.series
    const column = (read: (p: (typeof points)[number]) => number | null) => points.map(read)
    return {
      times: points.map((p) => new Date(p.time).getTime() / 1000),
      share: [
        { label: t('charts.all'), color: '--cached', values: column((p) => p.cache_hit_rate) },
        ...[...summary.by_deployment].sort((a, b) => b.input_tokens - a.input_tokens).slice(0, shown)
          .map((d, i) => ({ label: d.name, color: `--series-${i + 1}`, values: d.cache_hit_rates ?? [], thin: true })),
      ],
      money: [
        { label: t('usage.cost'), color: '--output', values: column((p) => p.total_cost ?? p.known_cost) },
        { label: t('usage.saved'), color: '--cached', values: column((p) => p.saved_cost) },
      ],
      tokens: [
        { label: t('tokens.cached'), color: '--cached', values: column((p) => p.cached_tokens) },
        { label: t('tokens.fresh'), color: '--fresh', values: column((p) => p.fresh_tokens) },
        { label: t('tokens.written'), color: '--written', values: column((p) => p.cache_write_tokens) },
        { label: t('tokens.output'), color: '--output', values: column((p) => p.output_tokens) },
      ],
      requests: [
        { label: t('usage.succeeded'), color: '--output', values: column((p) => p.requests - p.failed) },
        { label: t('usage.failed'), color: '--fresh', values: column((p) => p.failed) },
      ],
    }
  }, [summary, t])
  const when = useMemo(() => {
    const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' })
    return (s: number) => (hourly ? hour.format(s * 1000) : f.day(s * 1000))
  }, [f, hourly])
  const common = { times: of.times, when, note: hourly ? t('charts.utcHours') : t('charts.utcDays') }
  return (
    <div className="columns">
      <Figure {...common} kind="lines" title={t('charts.share')} label={t('charts.share')} series={of.share} write={f.share} top={1} />
      <Figure {...common} kind="stack" title={t('charts.money')} label={t('charts.money')} series={of.money} write={f.usd} />
      <Figure {...common} kind="stack" title={t('charts.tokens')} label={t('charts.tokens')} series={of.tokens} write={f.compact} whole />
      <Figure {...common} kind="stack" title={t('charts.requests')} label={t('charts.requests')} series={of.requests} write={f.compact} whole />
    </div>
  )
}
