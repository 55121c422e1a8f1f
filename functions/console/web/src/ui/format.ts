import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'

// Format writes numbers, money and times in the language of the page. What is
// not known is a dash, never a zero.
export interface Format {
  count(n: number | null | undefined): string
  compact(n: number | null | undefined): string
  share(n: number | null | undefined): string
  usd(n: number | null | undefined): string
  ms(n: number | null | undefined): string
  time(iso: string | number): string
  day(iso: string | number): string
  clock(iso: string | number): string
  ago(iso: string | number, now?: number): string
}

export const unknown = '–'

export function formats(language: string): Format {
  const locale = language === 'zh' ? 'zh-Hans' : 'en'
  const count = new Intl.NumberFormat(locale)
  const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })
  const share = new Intl.NumberFormat(locale, { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 })
  const one = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 })
  const time = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' })
  const day = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' })
  const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
  const ago = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  const known = <A>(write: (n: number) => A) => (n: number | null | undefined) =>
    n === null || n === undefined || Number.isNaN(n) ? unknown : write(n)
  return {
    count: known((n) => count.format(n)),
    compact: known((n) => compact.format(n)),
    share: known((n) => share.format(n)),
    usd: known((n) => dollars(n)),
    ms: known((n) => (n < 1000 ? `${count.format(Math.round(n))} ms` : `${one.format(n / 1000)} s`)),
    time: (iso) => time.format(new Date(iso)),
    day: (iso) => day.format(new Date(iso)),
    clock: (iso) => clock.format(new Date(iso)),
    ago: (iso, now = Date.now()) => {
      const seconds = (new Date(iso).getTime() - now) / 1000
      for (const [unit, size] of [['day', 86400], ['hour', 3600], ['minute', 60]] as const) {
        if (Math.abs(seconds) >= size) return ago.format(Math.round(seconds / size), unit)
      }
      return ago.format(Math.round(seconds), 'second')
    },
  }
}

// dollars shows cents of sums and the first digits of what one request costs;
// four digits keep columns alike.
function dollars(n: number): string {
  const size = Math.abs(n)
  const digits = size === 0 || size >= 1 ? 2 : size >= 0.001 ? 4 : 6
  return `${n < 0 ? '−' : ''}$${size.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`
}

export function useFormat(): Format {
  const { i18n } = useTranslation()
  return useMemo(() => formats(i18n.language), [i18n.language])
}
