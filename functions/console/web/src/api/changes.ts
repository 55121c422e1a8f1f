import { useInfiniteQuery } from '@tanstack/react-query'
import { get, query } from './client'
import type { Page } from './events'

// Change is one thing that an operator has done, or has begun to.
export interface Change {
  id: string
  time: string
  who: string
  action: string
  target: string
  before: unknown // null: there was nothing
  after: unknown // null: there is nothing
  outcome: 'begun' | 'done' | 'failed' | 'unknown'
}

export const changesPath = '/admin/audit/changes'

export function useChanges() {
  return useInfiniteQuery({
    queryKey: ['changes'],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => get<Page<Change>>(changesPath + query({ limit: 100, cursor: pageParam }), signal),
    getNextPageParam: (last) => last.next_cursor || undefined,
  })
}
