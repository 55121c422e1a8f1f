// Answers of the three endpoints, whole or as a stream, in the conversation's
// own form.

import type { Endpoint, ToolCall, Tokens } from './dialog'

export interface Reply {
  text: string
  calls: ToolCall[]
  tokens: Tokens | null
  error?: { message: string; code: string }
}

type Json = Record<string, unknown>

const record = (v: unknown): Json => (typeof v === 'object' && v !== null ? (v as Json) : {})
const list = (v: unknown): Json[] => (Array.isArray(v) ? v.map(record) : [])
const text = (v: unknown): string => (typeof v === 'string' ? v : '')
const number = (v: unknown): number => (typeof v === 'number' ? v : 0)

// tokens brings a protocol's usage into one form: what was fresh, and what was
// read from or written to the provider's cache.
export function tokens(endpoint: Endpoint, usage: unknown): Tokens | null {
  const u = record(usage)
  if (Object.keys(u).length === 0) return null
  if (endpoint === 'messages') {
    const parts = record(u.cache_creation)
    const hour = number(parts.ephemeral_1h_input_tokens)
    return {
      fresh: number(u.input_tokens), cached: number(u.cache_read_input_tokens),
      written: number(u.cache_creation_input_tokens) - hour, written1h: hour, output: number(u.output_tokens),
    }
  }
  const input = number(endpoint === 'chat' ? u.prompt_tokens : u.input_tokens)
  const cached = number(record(endpoint === 'chat' ? u.prompt_tokens_details : u.input_tokens_details).cached_tokens)
  return { fresh: input - cached, cached, written: 0, written1h: 0, output: number(endpoint === 'chat' ? u.completion_tokens : u.output_tokens) }
}

// whole reads a JSON answer.
export function whole(endpoint: Endpoint, body: unknown): Reply {
  const b = record(body)
  switch (endpoint) {
    case 'chat': {
      const message = record(list(b.choices)[0]?.message)
      return {
        text: text(message.content), tokens: tokens('chat', b.usage),
        calls: list(message.tool_calls).map((c) => ({ id: text(c.id), name: text(record(c.function).name), arguments: text(record(c.function).arguments) })),
      }
    }
    case 'responses': {
      const items = list(b.output)
      return {
        text: items.filter((i) => i.type === 'message').flatMap((i) => list(i.content)).map((c) => text(c.text)).join(''),
        calls: items.filter((i) => i.type === 'function_call').map((i) => ({ id: text(i.call_id), name: text(i.name), arguments: text(i.arguments) })),
        tokens: tokens('responses', b.usage),
      }
    }
    case 'messages': {
      const blocks = list(b.content)
      return {
        text: blocks.filter((c) => c.type === 'text').map((c) => text(c.text)).join(''),
        calls: blocks.filter((c) => c.type === 'tool_use').map((c) => ({ id: text(c.id), name: text(c.name), arguments: JSON.stringify(c.input ?? {}) })),
        tokens: tokens('messages', b.usage),
      }
    }
  }
}

// Gathering takes a stream's events and keeps the reply as it stands.
export class Gathering {
  readonly reply: Reply = { text: '', calls: [], tokens: null }
  private usage: Json = {}
  private open = new Map<number, ToolCall>()

  constructor(private readonly endpoint: Endpoint) {}

  // take reads one event's data; it reports whether there is output in it.
  take(data: string): boolean {
    if (data === '[DONE]') return false
    let event: Json
    try {
      event = record(JSON.parse(data))
    } catch {
      return false
    }
    if (event.error !== undefined && event.error !== null) {
      this.fail(record(event.error))
      return false
    }
    switch (this.endpoint) {
      case 'chat': return this.chat(event)
      case 'responses': return this.responses(event)
      case 'messages': return this.messages(event)
    }
  }

  private fail(error: Json) {
    this.reply.error = { message: text(error.message), code: text(error.code) || text(error.type) }
  }

  private call(index: number): ToolCall {
    let found = this.open.get(index)
    if (!found) {
      found = { id: '', name: '', arguments: '' }
      this.open.set(index, found)
      this.reply.calls.push(found)
    }
    return found
  }

  private chat(event: Json): boolean {
    if (event.usage) this.reply.tokens = tokens('chat', event.usage)
    const delta = record(list(event.choices)[0]?.delta)
    this.reply.text += text(delta.content)
    for (const part of list(delta.tool_calls)) {
      const call = this.call(number(part.index))
      call.id ||= text(part.id)
      call.name ||= text(record(part.function).name)
      call.arguments += text(record(part.function).arguments)
    }
    return text(delta.content) !== '' || list(delta.tool_calls).length > 0
  }

  private responses(event: Json): boolean {
    switch (event.type) {
      case 'response.output_text.delta':
        this.reply.text += text(event.delta)
        return true
      case 'response.output_item.done': {
        const item = record(event.item)
        if (item.type !== 'function_call') return false
        this.reply.calls.push({ id: text(item.call_id), name: text(item.name), arguments: text(item.arguments) })
        return true
      }
      case 'response.completed':
      case 'response.incomplete':
        this.reply.tokens = tokens('responses', record(event.response).usage)
        return false
      case 'response.failed':
        this.fail(record(record(event.response).error))
    }
    return false
  }

  private messages(event: Json): boolean {
    const index = number(event.index)
    switch (event.type) {
      case 'message_start':
        return this.count(record(event.message).usage)
      case 'message_delta':
        return this.count(event.usage)
      case 'content_block_start': {
        const block = record(event.content_block)
        if (block.type !== 'tool_use') return false
        Object.assign(this.call(index), { id: text(block.id), name: text(block.name) })
        return true
      }
      case 'content_block_delta': {
        const delta = record(event.delta)
        this.reply.text += text(delta.text)
        if (delta.type === 'input_json_delta') this.call(index).arguments += text(delta.partial_json)
        return text(delta.text) !== '' || delta.type === 'input_json_delta'
      }
    }
    return false
  }

  // count merges usage: the last value of each field wins.
  private count(usage: unknown): boolean {
    this.usage = { ...this.usage, ...record(usage) }
    this.reply.tokens = tokens('messages', this.usage)
    return false
  }
}
