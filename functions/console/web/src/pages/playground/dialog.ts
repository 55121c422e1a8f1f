// A conversation in a form of its own, and each endpoint's request made of it.
// Endpoint and model may change from turn to turn.

export type Endpoint = 'chat' | 'responses' | 'messages'

export interface ToolCall {
  id: string
  name: string
  arguments: string // JSON, as the model wrote it
}

export interface Tokens {
  fresh: number
  cached: number
  written: number
  written1h: number
  output: number
}

// Facts are what an answer says of how it was served.
export interface Facts {
  model: string
  endpoint: Endpoint
  session: string
  source: string
  affinity: string
  deployment: string
  attempts: string
  requestId: string
  firstByteMs: number | null
  durationMs: number
  tokens: Tokens | null
  dropped: string
  cache: string // hit: the gateway answered by itself
}

export interface Failure {
  status: number
  code: string
  message: string
  requestId: string
}

export type Message =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text: string; calls: ToolCall[]; facts?: Facts; failure?: Failure }
  | { role: 'tool'; id: string; name: string; result: string }

export interface Settings {
  model: string
  endpoint: Endpoint
  stream: boolean
  tools: boolean
  instructions: string
}

export const paths: Record<Endpoint, string> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
}

const maxTokens = 2048 // Messages asks for a bound

// demoTool is declared in each endpoint's own way, and run in the browser.
export const demoTool = {
  name: 'current_time',
  description: 'Returns the current date and time in an IANA time zone.',
  parameters: {
    type: 'object',
    properties: { timezone: { type: 'string', enum: ['Asia/Shanghai', 'Asia/Tokyo', 'Asia/Kolkata', 'Europe/Berlin', 'Europe/London', 'America/New_York', 'America/Los_Angeles', 'UTC'] } },
    additionalProperties: false,
  },
}

// runTool answers a call of the demo tool.
export function runTool(call: ToolCall, now = new Date()): string {
  if (call.name !== demoTool.name) return JSON.stringify({ error: `There is no tool ${call.name}.` })
  let zone = 'UTC'
  try {
    const given = (JSON.parse(call.arguments || '{}') as { timezone?: unknown }).timezone
    if (typeof given === 'string' && given !== '') zone = given
    const time = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone: zone }).format(now)
    return JSON.stringify({ timezone: zone, time })
  } catch {
    return JSON.stringify({ timezone: 'UTC', time: now.toUTCString(), note: 'The time zone was not understood.' })
  }
}

// request is the body that asks for the next turn.
export function request(s: Settings, history: Message[]): Record<string, unknown> {
  const said = history.filter((m) => m.role !== 'assistant' || !m.failure || m.text !== '' || m.calls.length > 0)
  switch (s.endpoint) {
    case 'chat':
      return {
        model: s.model,
        messages: [...(s.instructions ? [{ role: 'system', content: s.instructions }] : []), ...said.map(chatMessage)],
        ...(s.tools ? { tools: [{ type: 'function', function: demoTool }] } : {}),
        ...(s.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
      }
    case 'responses':
      return {
        model: s.model,
        input: said.flatMap(responsesItems),
        ...(s.instructions ? { instructions: s.instructions } : {}),
        ...(s.tools ? { tools: [{ type: 'function', ...demoTool }] } : {}),
        ...(s.stream ? { stream: true } : {}),
      }
    case 'messages':
      return {
        model: s.model,
        max_tokens: maxTokens,
        messages: messagesTurns(said),
        ...(s.instructions ? { system: [{ type: 'text', text: s.instructions, cache_control: { type: 'ephemeral' } }] } : {}),
        ...(s.tools ? { tools: [{ name: demoTool.name, description: demoTool.description, input_schema: demoTool.parameters }] } : {}),
        ...(s.stream ? { stream: true } : {}),
      }
  }
}

function chatMessage(m: Message) {
  switch (m.role) {
    case 'user':
      return { role: 'user', content: m.text }
    case 'tool':
      return { role: 'tool', tool_call_id: m.id, content: m.result }
    case 'assistant':
      return {
        role: 'assistant',
        content: m.text === '' ? null : m.text,
        ...(m.calls.length > 0 ? { tool_calls: m.calls.map((c) => ({ id: c.id, type: 'function', function: { name: c.name, arguments: c.arguments } })) } : {}),
      }
  }
}

function responsesItems(m: Message): object[] {
  switch (m.role) {
    case 'user':
      return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: m.text }] }]
    case 'tool':
      return [{ type: 'function_call_output', call_id: m.id, output: m.result }]
    case 'assistant':
      return [
        ...(m.text === '' ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: m.text }] }]),
        ...m.calls.map((c) => ({ type: 'function_call', call_id: c.id, name: c.name, arguments: c.arguments })),
      ]
  }
}

// messagesTurns joins tool results into one user turn, as the protocol wants,
// and marks the end of what can be cached.
function messagesTurns(history: Message[]): object[] {
  const turns: { role: string; content: Record<string, unknown>[] }[] = []
  for (const m of history) {
    const role = m.role === 'assistant' ? 'assistant' : 'user'
    const blocks = messagesBlocks(m)
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else turns.push({ role, content: blocks })
  }
  const end = turns.at(-1)?.content.at(-1)
  if (end) end.cache_control = { type: 'ephemeral' }
  return turns
}

function messagesBlocks(m: Message): Record<string, unknown>[] {
  switch (m.role) {
    case 'user':
      return [{ type: 'text', text: m.text }]
    case 'tool':
      return [{ type: 'tool_result', tool_use_id: m.id, content: m.result }]
    case 'assistant':
      return [
        ...(m.text === '' ? [] : [{ type: 'text', text: m.text }]),
        ...m.calls.map((c) => ({ type: 'tool_use', id: c.id, name: c.name, input: parsed(c.arguments) })),
      ]
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text || '{}')
  } catch {
    return {}
  }
}
