import { lazy, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Card, Loading, Segmented } from '../ui/basics'
import type { ChartProps } from './TimeChart'

// The drawing library is loaded with the first chart that is shown.
const TimeChart = lazy(() => import('./TimeChart'))

// Figure is a chart with its table twin.
export function Figure({ title, note, ...chart }: ChartProps & { title: string; note?: string }) {
  const { t } = useTranslation()
  const [as, setAs] = useState<'chart' | 'table'>('chart')
  return (
    <Card title={title} actions={
      <Segmented hideLabel label={t('charts.as', { title })} value={as} onChange={setAs}
        options={[{ value: 'chart', text: t('charts.chart') }, { value: 'table', text: t('charts.table') }]} />
    }>
      {as === 'chart'
        ? <Suspense fallback={<Loading lines={4} />}><TimeChart {...chart} /></Suspense>
        : <Twin {...chart} />}
      {note && <p className="hint">{note}</p>}
    </Card>
  )
}

function Twin({ label, times, series, write, when }: ChartProps) {
  const { t } = useTranslation()
  return (
    <div className="plain-scroll" tabIndex={0}>
      <table className="plain-table">
        <caption className="hidden">{label}</caption>
        <thead><tr><th>{t('columns.time')}</th>{series.map((s) => <th key={s.label} className="number">{s.label}</th>)}</tr></thead>
        <tbody>
          {times.map((at, i) => (
            <tr key={at}><td>{when(at)}</td>{series.map((s) => <td key={s.label} className="number">{write(s.values[i])}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
