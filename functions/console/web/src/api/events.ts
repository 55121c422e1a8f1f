// Usage events and sessions, in the admin API's own shapes.

export interface Usage {
  input: number
  cache_read: number
  cache_write_5m: number
  cache_write_1h: number
  output: number
  reasoning: number
  estimated: boolean
}

export interface Cost {
  input: number
  cache_read: number
  cache_write: number
  output: number
  total: number
}

export interface Attempt {
  deployment: string
  outcome: string
  status: number
  ms: number
}

export interface Event {
  id: string
  time: string
  request_id: string
  session_id: string
  session_source: string
  session_signal: string
  lane: string
  user_path: string
  key: string
  endpoint: string
  model: string
  affinity: string
  template: string
  rule_source?: string
  deployment: string
  connection: string
  provider: string
  upstream_model: string
  stream: boolean
  status: number
  error_code: string
  ttfb_ms: number
  duration_ms: number
  attempts: Attempt[] | null
  usage: Usage | null
  cost: Cost | null
  saved_cost: number | null
  labels: string[] | null
  cache?: string
  explanation?: Explanation | null
}

// Preference is the wish that a request found, and what became of it.
export interface Preference {
  deployment: string
  required?: boolean
  kept: boolean
  reason?: string
}

export interface Candidate {
  deployment: string
  model?: string
  pool?: string
  chain?: string
  kept: boolean
  reason: string
  rank: number
  until?: number
  scores?: { weight: number; rendezvous: number; usd?: number; latency_ms?: number; tokens_this_minute?: number }
}

export interface Explanation {
  session?: { session_id?: string; session_source?: string; session_signal?: string; lane?: boolean }
  affinity?: string
  model?: string
  template?: string
  template_source?: string
  strategy?: string
  strategy_source?: string
  weights_source?: string
  session_affinity?: string
  preference?: Preference | null
  spilled?: boolean
  refusal?: string
  candidates?: Candidate[] | null
}

export interface AuditSession {
  session_id: string
  user_path: string
  request_count: number
  deployments: string[] | null
  models: string[] | null
  moves: number
  input_tokens: number
  cached_tokens: number
  total_tokens: number
  total_cost: number | null
  saved_cost: number | null
  latest: Event
}

export interface UsageSession {
  session_id: string
  user_path: string
  requests: number
  input_tokens: number
  output_tokens: number
  total_tokens: number
  cached_tokens: number
  input_cost: number | null
  output_cost: number | null
  total_cost: number | null
  saved_cost: number | null
}

// Page is a list by cursor; the session reports also say how many there are.
export interface Page<T> {
  entries: T[] | null
  next_cursor?: string
  total?: number
  total_at_least?: number
  limit?: number
  offset?: number
}

// isInferred reports whether the gateway has guessed the session.
export function isInferred(source: string): boolean {
  return source === 'prompt'
}

// writes are the tokens that were put into a provider's cache.
export function writes(u: Usage): number {
  return u.cache_write_5m + u.cache_write_1h
}

// cachedShare is which part of the input came from a provider's cache; null
// where there was no input.
export function cachedShare(u: Pick<Usage, 'input' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h'>): number | null {
  const all = u.input + u.cache_read + u.cache_write_5m + u.cache_write_1h
  return all === 0 ? null : u.cache_read / all
}
