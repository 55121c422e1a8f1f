import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect } from 'react'
import { Redirect, Route, Router, Switch } from 'wouter'
import { ApiError } from '../api/client'
import { useDraftWarning } from '../api/draft'
import { useSession, type Session } from '../api/session'
import { ErrorNote, Loading } from '../ui/basics'
import { Playground } from '../pages/playground/Playground'
import { Shell } from './Shell'
import { SignIn } from './SignIn'

// The pages beside the playground are loaded when they are gone to.
const load = {
  sessions: async () => ({ default: (await import('../pages/sessions/Sessions')).Sessions }),
  usage: async () => ({ default: (await import('../pages/usage/Usage')).Usage }),
  routing: async () => ({ default: (await import('../pages/routing/Routing')).Routing }),
  keys: async () => ({ default: (await import('../pages/keys/Keys')).Keys }),
  affinity: async () => ({ default: (await import('../pages/affinity/Affinity')).AffinityPage }),
}
const Sessions = lazy(load.sessions)
const Usage = lazy(load.usage)
const Routing = lazy(load.routing)
const Keys = lazy(load.keys)
const Affinity = lazy(load.affinity)

// fetchPage begins to load the page at an address before it is shown. Where that
// fails, showing it says so.
export function fetchPage(address: string): void {
  const name = address.split('/')[2] as keyof typeof load
  if (Object.hasOwn(load, name)) load[name]().catch(() => undefined)
}

export function App() {
  const session = useSession()
  useSignedOut()
  useDraftWarning()
  if (session.isPending) return <main className="alone"><Loading /></main>
  if (session.error) return <main className="alone"><ErrorNote error={session.error} onRetry={() => void session.refetch()} /></main>
  if (session.data.role === '') return <SignIn demo={session.data.demo_key} />
  return (
    <Router base="/console">
      <Shell session={session.data}>
        <Suspense fallback={<Loading />}>
          <Pages session={session.data} />
        </Suspense>
      </Shell>
    </Router>
  )
}

function Pages({ session }: { session: Session }) {
  if (session.role !== 'admin') {
    return (
      <Switch>
        <Route path="/playground"><Playground session={session} /></Route>
        <Route><Redirect to="/playground" replace /></Route>
      </Switch>
    )
  }
  return (
    <Switch>
      <Route path="/playground"><Playground session={session} /></Route>
      <Route path="/sessions"><Sessions /></Route>
      <Route path="/usage"><Usage /></Route>
      <Route path="/routing"><Routing /></Route>
      <Route path="/keys"><Keys /></Route>
      <Route path="/affinity"><Affinity /></Route>
      <Route><Redirect to="/playground" replace /></Route>
    </Switch>
  )
}

// useSignedOut shows the sign-in as soon as the server no longer knows us: the
// cookie has expired, or the operator has replaced the admin key.
function useSignedOut() {
  const client = useQueryClient()
  useEffect(() => {
    const note = (error: unknown) => {
      if (error instanceof ApiError && error.status === 401) void client.invalidateQueries({ queryKey: ['session'] })
    }
    const stops = [
      client.getQueryCache().subscribe((e) => { if (e.type === 'updated' && e.action.type === 'error') note(e.action.error) }),
      client.getMutationCache().subscribe((e) => { if (e.type === 'updated' && e.action.type === 'error') note(e.action.error) }),
    ]
    return () => stops.forEach((stop) => stop())
  }, [client])
}
