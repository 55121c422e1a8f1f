import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, get, query } from './client'

// Preference is a stored preference, and whether it would be kept now.
export interface StoredPreference {
  key: string // names the record, to clear or to pin it
  session_id?: string
  endpoint: string
  model: string
  pool?: string
  deployment: string
  revision: string
  expires: string | null
  kept?: boolean
  reason?: string
}

export interface LookUp {
  session_id?: string
  raw_session_id?: string
  key?: string
}

export interface Found {
  session_id?: string
  entries: StoredPreference[] | null
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
