import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render } from '@testing-library/react'
import type { ReactNode } from 'react'
import { Router } from 'wouter'
import { memoryLocation } from 'wouter/memory-location'
import { vi } from 'vitest'

export interface Asked {
  method: string
  path: string
  search: URLSearchParams
  headers: Headers
  body: string
}

export type Answer = { status?: number; body?: unknown; headers?: Record<string, string>; stream?: string[]; open?: boolean } // open: the stream goes on

// serve answers what the page asks for, by "METHOD /path", and keeps what was
// asked. A route that nobody expects is a 404, as the server's.
export function serve(routes: Record<string, (asked: Asked) => Answer>): Asked[] {
  const all: Asked[] = []
  vi.stubGlobal('fetch', async (input: string, init: RequestInit = {}) => {
    const url = new URL(input, 'http://console.test')
    const asked: Asked = { method: init.method ?? 'GET', path: url.pathname, search: url.searchParams, headers: new Headers(init.headers), body: String(init.body ?? '') }
    all.push(asked)
    const found = routes[`${asked.method} ${asked.path}`]
    const a = found?.(asked) ?? { status: 404, body: { error: { message: `no ${asked.path}`, code: 'route_not_found' } } }
    const headers = new Headers(a.headers)
    if (a.stream) {
      headers.set('Content-Type', 'text/event-stream')
      const encoder = new TextEncoder()
      const body = new ReadableStream<Uint8Array>({
        start(c) {
          for (const chunk of a.stream ?? []) c.enqueue(encoder.encode(chunk))
          if (!a.open) c.close()
          init.signal?.addEventListener('abort', () => c.error(init.signal?.reason))
        },
      })
      return new Response(body, { status: a.status ?? 200, headers })
    }
    return new Response(a.body === undefined ? null : JSON.stringify(a.body), { status: a.status ?? 200, headers })
  })
  return all
}

// show renders a page at an address, below the console's own.
export function show(page: ReactNode, at = '/') {
  const [path, search = ''] = at.split('?')
  const place = memoryLocation({ path: path ?? '/', searchPath: search, record: true })
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  return {
    place,
    ...render(
      <QueryClientProvider client={client}>
        <Router hook={place.hook} searchHook={place.searchHook}>{page}</Router>
      </QueryClientProvider>,
    ),
  }
}
