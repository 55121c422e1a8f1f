import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { get, query } from './client'
import type { AuditSession, Event, Page, UsageSession } from './events'
import type { Filters } from './filters'

const pageSize = 100

// paged asks for a list page by page, by its cursor.
function usePages<T>(name: string, path: string, filters: Record<string, string | undefined>, enabled = true) {
  const pages = useInfiniteQuery({
    queryKey: [name, filters],
    enabled,
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => get<Page<T>>(path + query({ ...filters, limit: pageSize, cursor: pageParam }), signal),
    getNextPageParam: (last) => last.next_cursor || undefined,
  })
  const first = pages.data?.pages[0]
  return {
    rows: pages.data?.pages.flatMap((p) => p.entries ?? []) ?? [],
    total: first?.total ?? first?.total_at_least,
    loading: pages.isPending && enabled,
    error: pages.error,
    retry: () => { void (pages.data ? pages.fetchNextPage() : pages.refetch()) },
    more: { has: pages.hasNextPage && !pages.error, busy: pages.isFetchingNextPage, load: () => { void pages.fetchNextPage() } },
  }
}

export type Pages<T> = ReturnType<typeof usePages<T>>

export const useAuditSessions = (f: Filters, enabled = true) => usePages<AuditSession>('audit/sessions', '/admin/audit/sessions', { ...f }, enabled)
export const useAuditLog = (f: Partial<Filters>, enabled = true) => usePages<Event>('audit/log', '/admin/audit/log', { ...f }, enabled)
export const useUsageSessions = (f: Filters, enabled = true) => usePages<UsageSession>('usage/sessions', '/admin/usage/sessions', { ...f }, enabled)

// Sums are what was used: of a stretch of time, a step of it, or a part.
export interface Sums {
  requests: number
  failed: number
  input_tokens: number // all of them, cached or not
  fresh_tokens: number
  cached_tokens: number
  cache_write_tokens: number
  output_tokens: number
  total_cost: number | null // null: not all of it has a known price
  saved_cost: number | null
  known_cost: number | null // of what has a known price
  unpriced_requests: number
  cache_hit_rate: number | null
  moves: number
}

export interface Summary {
  from: string
  to: string
  by: 'day' | 'hour'
  totals: Sums
  series: (Sums & { time: string })[]
  by_model: (Sums & { name: string })[]
  by_key: (Sums & { name: string })[]
  by_deployment: (Sums & { name: string; cache_hit_rates?: (number | null)[] })[] // rates by the steps of the series
  partial?: boolean
}

export function useSummary(f: Filters) {
  return useQuery({
    queryKey: ['usage/summary', f],
    queryFn: ({ signal }) => get<Summary>('/admin/usage/summary' + query({ ...f, by: f.days === '1' ? 'hour' : 'day' }), signal),
  })
}
