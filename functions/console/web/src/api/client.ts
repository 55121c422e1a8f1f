// The one way to the server: JSON in and out, failures as ApiError. The cookie
// goes along by itself; no key is ever held here.

export interface Problem {
  path: string
  message: string
  warning?: boolean
}

export class ApiError extends Error {
  readonly status: number // 0: the server was not reached
  readonly code: string
  readonly requestId: string
  readonly problems: Problem[]

  constructor(status: number, code: string, message: string, requestId = '', problems: Problem[] = []) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.requestId = requestId
    this.problems = problems
  }
}

export interface Answer<T> {
  value: T
  etag: string
}

export interface Call {
  method?: string
  body?: unknown // sent as JSON; a string is sent as it is
  ifMatch?: string
  signal?: AbortSignal
}

export async function call<T>(path: string, c: Call = {}): Promise<Answer<T>> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (c.body !== undefined) headers['Content-Type'] = 'application/json'
  if (c.ifMatch !== undefined) headers['If-Match'] = c.ifMatch
  let response: Response
  try {
    response = await fetch(path, {
      method: c.method ?? 'GET',
      headers,
      body: c.body === undefined ? undefined : typeof c.body === 'string' ? c.body : JSON.stringify(c.body),
      signal: c.signal,
      credentials: 'same-origin',
    })
  } catch (error) {
    if (c.signal?.aborted) throw error
    throw new ApiError(0, 'unreachable', '')
  }
  const text = await response.text()
  if (!response.ok) throw failure(response, text)
  return { value: (text.trim() === '' ? undefined : JSON.parse(text)) as T, etag: response.headers.get('ETag') ?? '' }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await call<T>(path, { signal })).value
}

// failure reads an error in any of the gateway's forms.
export function failure(response: Pick<Response, 'status' | 'headers'>, text: string): ApiError {
  const id = response.headers.get('X-Holdfast-Request-Id') ?? response.headers.get('X-Request-Id') ?? ''
  const code = response.headers.get('X-Holdfast-Error') ?? ''
  try {
    const body = JSON.parse(text) as { error?: { message?: string; code?: string }; problems?: Problem[] }
    return new ApiError(response.status, code || (body.error?.code ?? ''), body.error?.message ?? '', id, body.problems ?? [])
  } catch {
    return new ApiError(response.status, code, '', id)
  }
}

// query builds a query string, without what is empty.
export function query(values: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== '') q.set(name, String(value))
  }
  const text = q.toString()
  return text === '' ? '' : '?' + text
}
