import { queryOptions, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query'
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

export const sessionQuery = queryOptions({ queryKey: ['session'], queryFn: ({ signal }) => get<Session>(path, signal), staleTime: Infinity })

export function useSession() {
  return useQuery(sessionQuery)
}

// useSignIn and useSignOut change who is signed in, and forget what the one
// before has seen.
export function useSignIn() {
  const client = useQueryClient()
  return async (key: string) => {
    const { value } = await call<Session>(path, { method: 'POST', body: { key } })
    take(client, value)
    return value
  }
}

export function useSignOut() {
  const client = useQueryClient()
  return async () => {
    const { value } = await call<Session>(path, { method: 'DELETE' })
    take(client, value)
  }
}

function take(client: QueryClient, session: Session) {
  client.removeQueries({ predicate: (q) => q.queryKey[0] !== 'session' })
  client.setQueryData(['session'], session)
}
