import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, get, query } from './client'
import type { Event } from './events'

// StoredPreference is a session's wish for one model and endpoint.
export interface StoredPreference {
  key: string // names the record, to clear or to pin it
  endpoint: string
  model: string // the model or group that was asked for
  deployment: string
  serving_model: string
  pool: string // through which the deployment was reached
  path: string[] // fallback sources on the way
  revision: string
  expires: string | null
}

export interface LookUp {
  session_id?: string
  raw_session_id?: string
  key?: string
}

export interface Found {
  session_id?: string
  entries: StoredPreference[] | null
  latest?: Event | null // the session's latest exchange
}

export function usePreferences(q: LookUp) {
  return useQuery({
    queryKey: ['affinity', q],
    enabled: !!q.session_id || (!!q.raw_session_id && !!q.key),
    queryFn: ({ signal }) => get<Found>('/admin/affinity' + query({ ...q }), signal),
  })
}

export function useClear() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (key: string) => call(`/admin/affinity/${encodeURIComponent(key)}`, { method: 'DELETE' }),
    onSettled: () => client.invalidateQueries({ queryKey: ['affinity'] }),
  })
}

export function usePin() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ key, deployment }: { key: string; deployment: string }) => call(`/admin/affinity/${encodeURIComponent(key)}`, { method: 'PUT', body: { deployment } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['affinity'] }),
  })
}
