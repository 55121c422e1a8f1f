// A ledger of any size, answered in the admin API's shapes in place of the
// server's: ten thousand sessions need not be lived through to be scrolled.
const models = ['gpt-5', 'claude-sonnet-5', 'smart']
const served = { 'gpt-5': ['gpt-east', 'gpt-west'], 'claude-sonnet-5': ['claude-eu', 'claude-us'], smart: ['gpt-east', 'claude-eu'] }
const users = ['/acme/core/ann', '/acme/core/bob', '/acme/web/chen', '/labs/mei']
const hour = 3600_000

// number is a fixed pseudo-random number from 0 to 1 for a seed.
function number(seed) {
  let x = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32
}

const id = (i) => 'scoped-' + [1, 2, 3, 4].map((k) => Math.floor(number(i * 7 + k) * 2 ** 32).toString(16).padStart(8, '0')).join('')
const movesOf = (i) => (i % 9 === 4 ? 1 + (i % 2) : 0)

// event is turn n of session i, the latest turn being 0.
export function event(i, n, now) {
  const model = models[i % models.length]
  const [home, other] = served[model]
  const moved = movesOf(i) > 0 && n === 0
  const deployment = moved ? other : home
  const input = 900 + Math.floor(number(i + n) * 9000)
  const cached = n % 7 === 6 || moved ? 0 : Math.floor(input * 0.9)
  const failed = i % 31 === 12 && n === 0
  return {
    id: `ev-${i}-${n}`, time: new Date(now - i * 61_000 - n * 95_000).toISOString(), request_id: `req_${i}X${n}`, session_id: id(i),
    session_source: i % 5 === 2 ? 'prompt' : 'explicit', session_signal: i % 5 === 2 ? '' : 'X-Session-Id', lane: '', user_path: users[i % users.length], key: ['ci', 'ann', 'web'][i % 3],
    endpoint: ['chat', 'responses', 'messages'][i % 3], model, affinity: failed ? '' : moved ? 'moved' : n === 40 ? 'claimed' : 'hit', template: 'standard',
    deployment: failed ? '' : deployment, connection: deployment.split('-')[1], provider: deployment.startsWith('gpt') ? 'openai' : 'anthropic', upstream_model: model,
    stream: i % 2 === 0, status: failed ? 503 : 200, error_code: failed ? 'no_eligible_deployment' : '', ttfb_ms: 180 + Math.floor(number(n) * 900), duration_ms: 4200,
    attempts: moved ? [{ deployment: home, outcome: 'rate_limited', status: 429, ms: 84 }, { deployment: other, outcome: 'success', status: 200, ms: 2100 }] : [{ deployment, outcome: 'success', status: 200, ms: 1900 }],
    usage: failed ? null : { input: input - cached, cache_read: cached, cache_write_5m: moved ? input : 0, cache_write_1h: 0, output: 320, reasoning: 0, estimated: false },
    cost: failed ? null : { input: (input - cached) * 3e-6, cache_read: cached * 3e-7, cache_write: 0, output: 320 * 15e-6, total: (input - cached) * 3e-6 + cached * 3e-7 + 320 * 15e-6 },
    saved_cost: failed ? null : cached * 2.7e-6, labels: i % 4 === 0 ? ['nightly'] : null,
    explanation: {
      model, template: 'standard', template_source: 'platform', strategy: 'weighted', strategy_source: 'template', weights_source: 'template', session_affinity: 'true',
      preference: moved ? { deployment: home, kept: false, reason: 'cooldown' } : { deployment: home, kept: true },
      candidates: [
        { deployment: home, kept: !moved, reason: moved ? 'cooldown' : '', rank: moved ? 0 : 1, until: moved ? Math.floor(now / 1000) + 60 : undefined, scores: { weight: 3, rendezvous: 0.8, usd: 0.012 } },
        { deployment: other, kept: true, reason: '', rank: moved ? 1 : 2, scores: { weight: 1, rendezvous: 0.3, usd: 0.041 } },
      ],
    },
  }
}

function sums(scale, share) {
  const input = Math.floor(scale * 5200), cached = Math.floor(input * share), written = Math.floor(input * 0.05)
  const fresh = input - cached - written
  const output = Math.floor(scale * 420)
  const cost = fresh * 3e-6 + cached * 3e-7 + written * 3.75e-6 + output * 15e-6
  return {
    requests: Math.floor(scale), failed: Math.floor(scale * 0.012), input_tokens: input, fresh_tokens: fresh, cached_tokens: cached, cache_write_tokens: written, output_tokens: output, total_tokens: input + output, known_cost: cost, unpriced_requests: 0,
    total_cost: cost, saved_cost: cached * 2.7e-6, cache_hit_rate: share, moves: Math.floor(scale * 0.02),
  }
}

const added = (all) => {
  const total = all.reduce((a, b) => Object.fromEntries(Object.keys(a).map((k) => [k, a[k] + b[k]])))
  return { ...total, cache_hit_rate: total.cached_tokens / total.input_tokens }
}

function summary(days, now) {
  const hourly = days === 1
  const step = hourly ? hour : 24 * hour
  const points = hourly ? 24 : days
  const start = Math.floor(now / step) * step - (points - 1) * step
  const series = Array.from({ length: points }, (_, i) => {
    const weekend = !hourly && [0, 6].includes(new Date(start + i * step).getUTCDay())
    const share = Math.min(0.93, 0.42 + 0.5 * Math.min(1, i / (points * 0.4)) + 0.03 * (number(i) - 0.5) - (i === points - 3 ? 0.14 : 0))
    return { plain: sums((hourly ? 90 : 1900) * (weekend ? 0.35 : 0.8 + 0.4 * number(i + 3)), share), time: new Date(start + i * step).toISOString() }
  })
  const totals = added(series.map((s) => s.plain))
  const part = (name, of, share) => ({ name, ...sums(totals.requests * of, share) })
  return {
    from: series[0].time, to: new Date(now).toISOString(), by: hourly ? 'hour' : 'day', totals, series: series.map((s) => ({ time: s.time, ...s.plain })),
    by_deployment: [['gpt-east', 0.41, 0.9], ['claude-eu', 0.33, 0.86], ['gpt-west', 0.19, 0.71], ['claude-us', 0.07, 0.38]].map(([name, of, share], k) => ({
      ...part(name, of, share),
      cache_hit_rates: series.map((s, i) => (k === 3 && i < points / 2 ? null : Math.max(0, Math.min(0.95, s.plain.cache_hit_rate + (share - 0.8) * 0.6 + 0.06 * (number(i * 5 + k) - 0.5) - (k === 1 && i === points - 3 ? 0.3 : 0))))),
    })),
    by_model: [part('gpt-5', 0.5, 0.86), part('claude-sonnet-5', 0.33, 0.82), part('smart', 0.17, 0.78)],
    by_key: [part('ci', 0.5, 0.88), part('ann', 0.3, 0.8), part('web', 0.2, 0.72)],
  }
}

// install answers the ledger's routes from a scene. It returns how often each
// was asked.
export async function install(page, { sessions = 60, turns = 41, now = Date.now() } = {}) {
  const asked = {}
  const json = (route, value) => route.fulfill({ status: 200, contentType: 'application/json', body: JSON.stringify(value) })
  const page_ = (all, url, make) => {
    const limit = Number(url.searchParams.get('limit') ?? 50)
    const from = Number(url.searchParams.get('cursor') || url.searchParams.get('offset') || 0)
    const to = Math.min(all, from + limit)
    return { entries: Array.from({ length: Math.max(0, to - from) }, (_, k) => make(from + k)), next_cursor: to < all ? String(to) : '', total: all, limit, offset: from }
  }
  const routes = {
    '/admin/audit/sessions': (url) => page_(sessions, url, (i) => ({
      session_id: id(i), user_path: users[i % users.length], request_count: turns, models: i % 7 === 3 ? [models[i % 3], models[(i + 1) % 3]] : [models[i % 3]], deployments: movesOf(i) > 0 ? served[models[i % 3]] : [served[models[i % 3]][0]], ...sums(turns, movesOf(i) > 0 ? 0.61 : 0.88), moves: movesOf(i), latest: event(i, 0, now),
    })),
    '/admin/usage/sessions': (url) => page_(sessions, url, (i) => {
      const s = sums(turns, movesOf(i) > 0 ? 0.61 : 0.88)
      return { session_id: id(i), user_path: users[i % users.length], requests: turns, input_tokens: s.input_tokens, output_tokens: s.output_tokens, total_tokens: s.input_tokens + s.output_tokens, cached_tokens: s.cached_tokens, input_cost: s.total_cost * 0.6, output_cost: s.total_cost * 0.4, total_cost: s.total_cost, saved_cost: s.saved_cost }
    }),
    '/admin/audit/log': (url) => {
      const wanted = url.searchParams.get('session_id')
      let i = 0
      while (wanted && i < sessions && id(i) !== wanted) i++
      return page_(wanted ? turns : sessions, url, (n) => (wanted ? event(i, n, now) : event(n, 0, now)))
    },
    '/admin/usage/summary': (url) => summary(Number(url.searchParams.get('days') ?? 7), now),
  }
  for (const [path, make] of Object.entries(routes)) {
    await page.route((url) => url.pathname === path, (route) => {
      asked[path] = (asked[path] ?? 0) + 1
      return json(route, make(new URL(route.request().url())))
    })
  }
  return asked
}
