import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, get, query } from './client'
import type { Budget } from './config'
import type { Page } from './events'
import type { Summary } from './ledger'

// Key is a stored key, without its secret; that is in the answer that makes it
// and nowhere else.
export interface Key {
  id: string
  user: string
  team: string
  organization: string
  user_path: string
  models: string[] | null
  template: string
  budget: Budget | null
  limits: { rpm: number; tpm: number; strict?: boolean }
  enabled: boolean
  expires: string
  created?: string
  key?: string
}

// Fields are what a key is made of or changed by.
export interface Fields {
  id?: string
  user?: string
  team?: string
  models?: string[]
  template?: string
  budget?: Budget | null
  limits?: { rpm?: number; tpm?: number; strict?: boolean }
  enabled?: boolean
  expires?: string
}

export function useKeys() {
  return useInfiniteQuery({
    queryKey: ['keys'],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => get<Page<Key>>('/admin/keys' + query({ limit: 100, cursor: pageParam }), signal),
    getNextPageParam: (last) => last.next_cursor || undefined,
  })
}

export function useMakeKey() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async (fields: Fields) => (await call<Key>('/admin/keys', { method: 'POST', body: fields })).value,
    onSuccess: () => client.invalidateQueries({ queryKey: ['keys'] }),
  })
}

export function useChangeKey() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ id, fields }: { id: string; fields: Fields }) => (await call<Key>(`/admin/keys/${encodeURIComponent(id)}`, { method: 'PATCH', body: fields })).value,
    onSuccess: () => client.invalidateQueries({ queryKey: ['keys'] }),
  })
}

export function useRemoveKey() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => call(`/admin/keys/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['keys'] }),
  })
}

// periodStart is when the running period of a budget began: days, weeks from
// Monday and months, in UTC.
export function periodStart(period: Budget['period'], now = new Date()): Date {
  const day = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()))
  if (period === 'weekly') day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7))
  if (period === 'monthly') day.setUTCDate(1)
  return day
}

// useSpent is what a key has cost in the running period of its budget.
export function useSpent(key: string, budget: Budget | null | undefined) {
  return useQuery({
    queryKey: ['spent', key, budget?.period],
    enabled: !!budget,
    staleTime: 30_000,
    queryFn: ({ signal }) => get<Summary>('/admin/usage/summary' + query({ key, from: periodStart(budget!.period).toISOString(), by: 'day' }), signal),
    select: (s) => s.totals.total_cost ?? s.totals.known_cost,
  })
}
