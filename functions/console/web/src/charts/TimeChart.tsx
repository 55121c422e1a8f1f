import { useEffect, useMemo, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useTheme } from '../app/theme'

export interface Series {
  label: string
  color: string // a custom property's name
  values: (number | null)[]
  thin?: boolean // a line beside the one that matters
}

export interface ChartProps {
  label: string
  kind: 'stack' | 'bars' | 'lines'
  times: number[] // Unix seconds
  series: Series[]
  write(n: number | null | undefined): string // a value with its unit
  when(seconds: number): string
  top?: number // the scale's end, where it is fixed
  whole?: boolean // of what is counted: no halves on the scale
  height?: number
}

// counts are the steps of a scale of whole numbers: 1, 2, 5, 10, …
const counts = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power)).flat()

const paint = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

// stacked puts each series upon those before it; the topmost is drawn first.
export function stacked(series: Series[]): (number | null)[][] {
  const sums: number[] = []
  return series.map((s) => s.values.map((v, i) => (sums[i] = (sums[i] ?? 0) + (v ?? 0))))
}

// TimeChart draws one chart; its numbers are read out from its table twin.
export default function TimeChart(p: ChartProps) {
  const { i18n } = useTranslation()
  const theme = useTheme()
  const place = useRef<HTMLDivElement>(null)
  const { label, kind, times, series, write, when, top, whole, height = 190 } = p
  const data = useMemo(() => {
    const rows = kind === 'stack' ? stacked(series).reverse() : kind === 'lines' ? series.map((s) => s.values).reverse() : series.map((s) => s.values)
    return [times, ...rows] as uPlot.AlignedData
  }, [kind, series, times])

  useEffect(() => {
    const host = place.current
    if (!host) return
    const drawn = kind === 'bars' ? series : [...series].reverse() // the first one on top
    const step = times.length > 1 ? times[1]! - times[0]! : 86400
    const axis = { stroke: paint('--muted'), font: `11px ${paint('--font')}`, ticks: { show: false }, grid: { stroke: paint('--line'), width: 1 } }
    const chart = new uPlot({
      width: Math.max(200, host.clientWidth), height,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'), // as the ledger's days are
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 6 } },
      padding: [10, 8, 0, 0],
      scales: {
        x: { time: true, range: (_u, min, max) => [min - step / 2, max + step / 2] },
        y: { range: (_u, _min, max) => [0, top ?? Math.max(max * 1.08, 1e-9)] },
      },
      axes: [
        { ...axis, grid: { show: false }, values: (_u, splits) => splits.map(when), size: 26, space: 64 },
        { ...axis, size: 62, space: 38, ...(whole ? { incrs: counts } : {}), values: (_u, splits) => splits.map((v) => write(v)) },
      ],
      series: [{}, ...drawn.map((s): uPlot.Series => {
        const color = paint(s.color)
        return kind === 'lines'
          ? { label: s.label, stroke: color, width: s.thin ? 1.25 : 3, points: { show: !s.thin || times.length < 12, size: s.thin || times.length > 40 ? 4 : 7, fill: color }, spanGaps: true }
          : { label: s.label, stroke: color, fill: color, width: 0, points: { show: false }, paths: uPlot.paths.bars!({ size: [0.7, 34], radius: kind === 'bars' ? 0.15 : 0 }) }
      })],
      hooks: { setCursor: [(u) => tell(u, host, series, write, when, times)] },
    }, data, host)
    const resize = new ResizeObserver(() => chart.setSize({ width: Math.max(200, host.clientWidth), height }))
    resize.observe(host)
    return () => {
      resize.disconnect()
      chart.destroy()
    }
  }, [data, height, i18n.language, kind, series, theme, times, top, when, whole, write])

  return (
    <figure className="chart">
      <ul className="legend">
        {series.map((s) => (
          <li key={s.label}><svg aria-hidden="true" viewBox="0 0 10 10"><rect width="10" height="10" rx="2" fill={`var(${s.color})`} /></svg>{s.label}</li>
        ))}
        <li className="reading" aria-hidden="true" />
      </ul>
      <div ref={place} role="img" aria-label={label} />
    </figure>
  )
}

// tell writes what is under the pointer into the legend.
function tell(u: uPlot, host: HTMLElement, series: Series[], write: ChartProps['write'], when: ChartProps['when'], times: number[]) {
  const reading = host.parentElement?.querySelector('.reading')
  if (!reading) return
  const i = u.cursor.idx
  const at = i === null || i === undefined ? undefined : times[i]
  reading.textContent = at === undefined ? '' : `${when(at)}: ${series.map((s) => `${s.label} ${write(s.values[i!])}`).join(' · ')}`
}
