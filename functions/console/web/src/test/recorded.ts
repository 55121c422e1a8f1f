import type { AuditSession, Event, UsageSession } from '../api/events'
import type { Summary } from '../api/ledger'

// Answers of the admin API, as they were recorded.

export const event: Event = {
  id: '01J', time: '2026-11-30T10:15:04Z', request_id: 'req_A', session_id: 'scoped-0123456789abcdef0123456789abcdef', session_source: 'prompt', session_signal: '',
  lane: '', user_path: '/acme/core/ann', key: 'ann', endpoint: 'chat', model: 'gpt-5', affinity: 'moved', template: 'standard', deployment: 'gpt-west', connection: 'west',
  provider: 'openai', upstream_model: 'gpt-5-2026', stream: true, status: 200, error_code: '', ttfb_ms: 812, duration_ms: 4200,
  attempts: [{ deployment: 'gpt-east', outcome: 'rate_limited', status: 429, ms: 84 }, { deployment: 'gpt-west', outcome: 'success', status: 200, ms: 4100 }],
  usage: { input: 1200, cache_read: 8800, cache_write_5m: 0, cache_write_1h: 0, output: 310, reasoning: 0, estimated: false },
  cost: { input: 0.0015, cache_read: 0.0011, cache_write: 0, output: 0.0031, total: 0.0057 }, saved_cost: 0.0099, labels: null,
  explanation: {
    model: 'gpt-5', template: 'standard', template_source: 'platform', strategy: 'weighted',
    preference: { deployment: 'gpt-east', kept: false, reason: 'cooldown' },
    candidates: [
      { deployment: 'gpt-east', kept: false, reason: 'cooldown', rank: 0, until: 1796033764 },
      { deployment: 'gpt-west', kept: true, reason: '', rank: 1, scores: { weight: 1, rendezvous: 0.4, usd: 0.012 } },
    ],
  },
}

export const session: AuditSession = {
  session_id: event.session_id, user_path: event.user_path, request_count: 12, deployments: ['gpt-east', 'gpt-west'], moves: 1,
  input_tokens: 100_000, cached_tokens: 81_000, total_tokens: 104_000, models: ['gpt-5', 'smart'], total_cost: 0.08, saved_cost: 0.0911, latest: event,
}

export const usageSession: UsageSession = {
  session_id: event.session_id, user_path: event.user_path, requests: 12, input_tokens: 100_000, output_tokens: 4_000, total_tokens: 104_000, cached_tokens: 81_000,
  input_cost: 0.04, output_cost: 0.04, total_cost: 0.08, saved_cost: 0.0911,
}

const sums = { requests: 12, failed: 1, input_tokens: 100_000, fresh_tokens: 19_000, cached_tokens: 81_000, cache_write_tokens: 0, output_tokens: 4_000, total_cost: 0.08, saved_cost: 0.0911, known_cost: 0.08, unpriced_requests: 0, cache_hit_rate: 0.81, moves: 1 }

export const summary: Summary = {
  from: '2026-11-24T00:00:00Z', to: '2026-12-01T00:00:00Z', by: 'day', totals: sums,
  series: [{ time: '2026-11-29T00:00:00Z', ...sums, requests: 4 }, { time: '2026-11-30T00:00:00Z', ...sums, requests: 8 }],
  by_deployment: [{ name: 'gpt-east', ...sums, cache_hit_rates: [null, 0.9] }, { name: 'gpt-west', ...sums, input_tokens: 200_000, cache_hit_rates: [0.5, 0.6] }], by_model: [{ name: 'gpt-5', ...sums }], by_key: [{ name: 'ann', ...sums }],
}
