import { describe, expect, it } from 'vitest'
import { Gathering, tokens, whole } from './answer'
import { cost } from './caller'
import { demoTool, request, runTool, type Message, type Settings } from './dialog'
import { events } from './sse'

const history: Message[] = [
  { role: 'user', text: 'What time is it?' },
  { role: 'assistant', text: 'Let me look.', calls: [{ id: 'c1', name: 'current_time', arguments: '{"timezone":"UTC"}' }] },
  { role: 'tool', id: 'c1', name: 'current_time', result: '{"time":"noon"}' },
  { role: 'assistant', text: '', calls: [], failure: { status: 502, code: 'upstream_failed', message: 'no', requestId: 'r' } },
  { role: 'user', text: 'Again' },
]
const settings: Settings = { model: 'm', endpoint: 'chat', stream: true, tools: true, instructions: 'Be brief.' }

describe('a request of a conversation', () => {
  it('for chat', () => {
    const body = request(settings, history)
    expect(body).toMatchObject({ model: 'm', stream: true, stream_options: { include_usage: true } })
    expect(body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What time is it?' },
      { role: 'assistant', content: 'Let me look.', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'current_time', arguments: '{"timezone":"UTC"}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: '{"time":"noon"}' },
      { role: 'user', content: 'Again' },
    ])
  })

  it('for responses', () => {
    const body = request({ ...settings, endpoint: 'responses', stream: false }, history)
    expect(body).toMatchObject({ instructions: 'Be brief.', tools: [{ type: 'function', name: 'current_time' }] })
    expect(body).not.toHaveProperty('stream')
    expect((body.input as object[]).slice(1, 4)).toEqual([
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me look.' }] },
      { type: 'function_call', call_id: 'c1', name: 'current_time', arguments: '{"timezone":"UTC"}' },
      { type: 'function_call_output', call_id: 'c1', output: '{"time":"noon"}' },
    ])
  })

  it('for messages joins what a user turn holds and marks its end', () => {
    const body = request({ ...settings, endpoint: 'messages' }, history)
    expect(body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'What time is it?' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Let me look.' }, { type: 'tool_use', id: 'c1', name: 'current_time', input: { timezone: 'UTC' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '{"time":"noon"}' }, { type: 'text', text: 'Again', cache_control: { type: 'ephemeral' } }] },
    ])
    expect(body.max_tokens).toBeGreaterThan(0)
  })
})

describe('the demo tool', () => {
  it('tells the time of a zone', () => {
    expect(runTool({ id: 'x', name: demoTool.name, arguments: '{"timezone":"Asia/Shanghai"}' }, new Date('2026-01-02T16:30:00Z'))).toContain('3 January 2026')
  })
  it('answers what it does not understand', () => {
    expect(runTool({ id: 'x', name: demoTool.name, arguments: '{"timezone":"Nowhere"}' })).toContain('not understood')
    expect(runTool({ id: 'x', name: demoTool.name, arguments: '{' })).toContain('not understood')
    expect(runTool({ id: 'x', name: 'other', arguments: '' })).toContain('There is no tool other')
  })
})

const streams = {
  chat: [
    { choices: [{ delta: { role: 'assistant', content: '' } }] }, { choices: [{ delta: { content: 'Hel' } }] }, { choices: [{ delta: { content: 'lo' } }] },
    { choices: [{ delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{"a"' } }] } }] },
    { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: ':1}' } }] } }] },
    { choices: [], usage: { prompt_tokens: 10, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 8 } } },
  ],
  responses: [
    { type: 'response.created', response: {} }, { type: 'response.output_text.delta', delta: 'Hel' }, { type: 'response.output_text.delta', delta: 'lo' },
    { type: 'response.output_item.done', item: { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' } },
    { type: 'response.completed', response: { usage: { input_tokens: 10, output_tokens: 3, input_tokens_details: { cached_tokens: 8 } } } },
  ],
  messages: [
    { type: 'message_start', message: { usage: { input_tokens: 2, cache_read_input_tokens: 8, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'c', name: 'f' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a"' } }, { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: ':1}' } },
    { type: 'message_delta', usage: { output_tokens: 3 } }, { type: 'message_stop' },
  ],
} as const
const answers = {
  chat: { choices: [{ message: { content: 'Hello', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{"a":1}' } }] } }], usage: streams.chat[5].usage },
  responses: { output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }, { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' }], usage: streams.responses[4].response.usage },
  messages: { content: [{ type: 'text', text: 'Hello' }, { type: 'tool_use', id: 'c', name: 'f', input: { a: 1 } }], usage: { input_tokens: 2, cache_read_input_tokens: 8, output_tokens: 3 } },
}

describe.each(['chat', 'responses', 'messages'] as const)('an answer of %s', (endpoint) => {
  const want = { text: 'Hello', calls: [{ id: 'c', name: 'f', arguments: '{"a":1}' }], tokens: { fresh: 2, cached: 8, written: 0, written1h: 0, output: 3 } }

  it('is the same whole and as a stream', () => {
    const g = new Gathering(endpoint)
    for (const e of streams[endpoint]) g.take(JSON.stringify(e))
    g.take('[DONE]')
    expect(g.reply).toEqual(want)
    expect(whole(endpoint, answers[endpoint])).toEqual(want)
  })

  it('says where its output begins', () => {
    const g = new Gathering(endpoint)
    expect(streams[endpoint].map((e) => g.take(JSON.stringify(e))).indexOf(true)).toBe(endpoint === 'messages' ? 2 : 1)
  })

  it('may fail half way', () => {
    const g = new Gathering(endpoint)
    const error = { message: 'The deployment broke off.', code: 'upstream_failed' }
    g.take(JSON.stringify(endpoint === 'responses' ? { type: 'response.failed', response: { error } } : { type: 'error', error }))
    expect(g.reply.error).toEqual(error)
    expect(g.take('no json')).toBe(false)
  })
})

describe('tokens', () => {
  it('written for an hour are told apart', () => {
    expect(tokens('messages', { input_tokens: 1, cache_creation_input_tokens: 30, cache_creation: { ephemeral_1h_input_tokens: 10 }, output_tokens: 2 }))
      .toEqual({ fresh: 1, cached: 0, written: 20, written1h: 10, output: 2 })
  })
  it('are unknown where an answer has none', () => {
    expect(tokens('chat', undefined)).toBeNull()
  })
  it('cost what their deployment asks', () => {
    const price = { input: 3, cached_input: 0.3, cache_write: 3.75, cache_write_1h: 6, output: 15 }
    expect(cost({ fresh: 1e6, cached: 1e6, written: 1e6, written1h: 1e6, output: 1e6 }, price)).toBeCloseTo(28.05)
    expect(cost({ fresh: 1, cached: 0, written: 0, written1h: 0, output: 0 }, null)).toBeNull()
  })
})

describe('server-sent events', () => {
  it('are read over any cut', async () => {
    const bytes = new TextEncoder().encode(': alive\n\nevent: a\ndata: {"x":"é"}\n\r\ndata: one\ndata: two\r\n\r\ndata: last')
    for (let size = 1; size < 9; size++) {
      const body = new ReadableStream<Uint8Array>({
        start(c) {
          for (let i = 0; i < bytes.length; i += size) c.enqueue(bytes.slice(i, i + size))
          c.close()
        },
      })
      const all = []
      for await (const e of events(body)) all.push(e)
      expect(all).toEqual([{ name: 'a', data: '{"x":"é"}' }, { name: 'message', data: 'one\ntwo' }, { name: 'message', data: 'last' }])
    }
  })
})
