import { useCallback, useMemo } from 'react'
import { useSearchParams } from 'wouter'

// Filters choose exchanges. They stand in the page's address: a link to a page
// is a link to what it shows.

export const filterNames = ['session_id', 'user_path', 'key', 'model', 'provider', 'deployment', 'label', 'status'] as const
export type FilterName = (typeof filterNames)[number]

export const spans = ['1', '7', '30', '90'] as const
export type Span = (typeof spans)[number]

export type Filters = Partial<Record<FilterName, string>> & { days: Span; raw_session_id?: string }

export function read(search: URLSearchParams): Filters {
  const days = search.get('days')
  const f: Filters = { days: spans.find((s) => s === days) ?? '7' }
  for (const name of filterNames) {
    const value = search.get(name)
    if (value) f[name] = value
  }
  const raw = search.get('raw_session_id')
  if (raw) f.raw_session_id = raw
  return f
}

export interface FilterState {
  filters: Filters
  set(name: FilterName, value: string): void
  drop(name: FilterName | 'raw_session_id'): void
  span(days: Span): void
  reset(): void
}

export function useFilters(): FilterState {
  const [search, setSearch] = useSearchParams()
  const filters = useMemo(() => read(search), [search])
  const change = useCallback((edit: (s: URLSearchParams) => void) => {
    setSearch((now) => {
      const next = new URLSearchParams(now)
      edit(next)
      return next
    })
  }, [setSearch])
  return {
    filters,
    set: (name, value) => change((s) => s.set(name, value)),
    drop: (name) => change((s) => s.delete(name)),
    span: (days) => change((s) => s.set('days', days)),
    reset: () => change((s) => { for (const n of [...filterNames, 'raw_session_id']) s.delete(n) }),
  }
}
