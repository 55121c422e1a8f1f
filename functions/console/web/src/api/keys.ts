import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { call, get, query } from './client'
import type { Budget } from './config'
import type { Page } from './events'

// Key is a key without its secret; that is in the answer that makes it and nowhere
// else.
export interface Key {
  id: string
  source: 'stored' | 'configuration'
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
  spending?: Spending // of the budget
}

// Spending is what is used up of a budget in the period that runs: what the next
// request is judged by.
export interface Spending {
  spent_usd: number
  reserved_usd: number // by what is in flight, where the budget is strict
  resets: string
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

// Shared is a budget of the document: an organization's, a team's or a key's.
export interface Shared extends Budget, Spending {
  level: 'organization' | 'team' | 'key'
  id: string
}

// useBudgets are the budgets of the document with what is spent of them.
export function useBudgets() {
  return useInfiniteQuery({
    queryKey: ['budgets'],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => get<Page<Shared>>('/admin/budgets' + query({ limit: 200, cursor: pageParam }), signal),
    getNextPageParam: (last) => last.next_cursor || undefined,
  })
}
