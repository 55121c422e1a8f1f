import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, get, query, type Problem } from './client'
import type { Page } from './events'

// Document is the configuration as the server stores it. Fields that no form
// shows are kept as they are.
export interface Document {
  session?: { enabled?: boolean; auto_detect?: boolean; builtin_rules?: boolean; [more: string]: unknown }
  affinity?: { enabled?: boolean; ttl?: string; retention?: string; max_wait?: string }
  connections: Connection[]
  deployments: Deployment[]
  models?: Entry[]
  groups?: Group[]
  templates?: Template[]
  platform?: { template?: string }
  organizations?: Entry[]
  teams?: Entry[]
  keys?: ConfiguredKey[]
  guardrails?: Entry[]
}

type Entry = Record<string, unknown>
export type Stickiness = boolean | 'strict'

export interface Connection extends Entry {
  id: string
  provider: string
  base_url?: string
  boundary?: string
}

export interface Deployment extends Entry {
  id: string
  model: string
  connection: string
  protocol: string
  upstream_model?: string
  enabled?: boolean
  weight?: number
  price?: { input: number; cached_input?: number; cache_write?: number; cache_write_1h?: number; output: number }
}

export interface Group extends Entry {
  name: string
  members: string[]
  strategy?: string
  weights?: Record<string, number>
  session_affinity?: Stickiness
  fallbacks?: string[]
}

export interface Template extends Entry {
  id: string
  strategy?: string
  retry_policy?: { max_attempts?: number }
  allowed_fails?: number
  cooldown?: string
  disable_fallbacks?: boolean
  session_affinity?: Stickiness
}

export interface ConfiguredKey extends Entry {
  id: string
  user?: string
  team?: string
  organization?: string
  models?: string[]
  template?: string
  budget?: Budget
  limits?: { rpm?: number; tpm?: number; strict?: boolean }
  enabled?: boolean
  expires?: string
}

export interface Budget {
  usd: number
  period: 'daily' | 'weekly' | 'monthly'
  strict?: boolean
}

export interface Stored {
  document: Document
  etag: string
}

export function useConfig() {
  return useQuery({
    queryKey: ['config'],
    queryFn: async ({ signal }): Promise<Stored> => {
      const { value, etag } = await call<Document>('/admin/config', { signal })
      return { document: value, etag }
    },
  })
}

// useSave replaces the document that was read at a revision.
export function useSave() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ text, etag }: { text: string; etag: string }) =>
      (await call<{ revision: string; problems: Problem[] | null }>('/admin/config', { method: 'PUT', body: text, ifMatch: etag })).value,
    onSuccess: () => Promise.all(['config', 'revisions', 'deployments', 'budgets', 'changes'].map((name) => client.invalidateQueries({ queryKey: [name] }))),
  })
}

export function useRevisions() {
  return useInfiniteQuery({
    queryKey: ['revisions'],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) => get<Page<{ revision: string }>>('/admin/config/revisions' + query({ limit: 50, cursor: pageParam }), signal),
    getNextPageParam: (last) => last.next_cursor || undefined,
  })
}

export function useRevision(name: string) {
  return useQuery({
    queryKey: ['revision', name],
    enabled: name !== '',
    staleTime: Infinity, // a revision never changes
    queryFn: ({ signal }) => get<Document>('/admin/config/revisions/' + encodeURIComponent(name), signal),
  })
}

// timeOf reads the time that a revision's name begins with, in ISO form and to the
// millisecond; '' where it has none.
export function timeOf(revision: string): string {
  const m = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)\.(\d{3})\d*-/.exec(revision)
  return m ? `${m[1]}-${m[2]}-${m[3]}T${m[4]}:${m[5]}:${m[6]}.${m[7]}Z` : ''
}

// pretty is the document as it is shown, edited and compared.
export function pretty(document: Document): string {
  return JSON.stringify(document, null, 2) + '\n'
}
