import { useQuery, useQueryClient } from '@tanstack/react-query'
import { call, get } from './client'

// Session is who is signed in.
export interface Session {
  role: '' | 'admin' | 'key'
  key?: string
  expires?: number
  gateway: string // '' for this origin
  demo_key?: string
}

const path = '/console/session'

export function useSession() {
  return useQuery({ queryKey: ['session'], queryFn: ({ signal }) => get<Session>(path, signal), staleTime: Infinity })
}

// useSignIn and useSignOut change who is signed in, and forget what the one
// before has seen.
export function useSignIn() {
  const client = useQueryClient()
  return async (key: string) => {
    const { value } = await call<Session>(path, { method: 'POST', body: { key } })
    client.clear()
    client.setQueryData(['session'], value)
    return value
  }
}

export function useSignOut() {
  const client = useQueryClient()
  return async () => {
    const { value } = await call<Session>(path, { method: 'DELETE' })
    client.clear()
    client.setQueryData(['session'], value)
  }
}
