import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { call, get, query } from './client'
import type { Page } from './events'

// LiveDeployment is a deployment's state at this moment.
export interface LiveDeployment {
  deployment: string
  model: string
  connection: string
  protocol: string
  enabled: boolean
  weight: number
  cooling_until: string | null
  cooling_reason: string
  drained: boolean
  traffic_share: number | null // of its model's requests in the last day
  cache_hit_share: number | null // of its input tokens in the last day
}

export function useDeployments() {
  return useQuery({
    queryKey: ['deployments'],
    queryFn: async ({ signal }) => {
      const all: LiveDeployment[] = []
      let cursor: string | undefined = ''
      do {
        const page: Page<LiveDeployment> = await get('/admin/deployments' + query({ limit: 200, cursor }), signal)
        all.push(...(page.entries ?? []))
        cursor = page.next_cursor
      } while (cursor)
      return all
    },
    refetchInterval: 5000,
  })
}

export type Action = { id: string; kind: 'drain' | 'undrain' | 'cool' | 'wake'; seconds?: number }

const routes = {
  drain: ['POST', 'drain'], undrain: ['DELETE', 'drain'], cool: ['POST', 'cooldown'], wake: ['DELETE', 'cooldown'],
} as const

export function useAct() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ id, kind, seconds }: Action) => {
      const [method, route] = routes[kind]
      await call(`/admin/deployments/${encodeURIComponent(id)}/${route}`, { method, body: kind === 'cool' ? { seconds } : undefined })
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['deployments'] }),
  })
}
