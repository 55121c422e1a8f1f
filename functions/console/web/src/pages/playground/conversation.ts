import { useCallback, useEffect, useRef, useState } from 'react'
import { runTool, type Failure, type Message, type Settings } from './dialog'
import { send } from './send'

// Conversation is what survives a refresh of the page, in this tab.
export interface Conversation {
  id: string // made before the first request, and kept
  own: boolean // id goes along as X-Session-Id
  settings: Settings
  messages: Message[]
}

const name = 'holdfast.conversation'
const maxRounds = 8 // of tool calls for one input

// uuid also works where the page is not a secure context.
export function uuid(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID()
  const b = crypto.getRandomValues(new Uint8Array(16))
  b[6] = (b[6]! & 0x0f) | 0x40
  b[8] = (b[8]! & 0x3f) | 0x80
  const hex = [...b].map((x) => x.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

export const fresh: Settings = { model: '', endpoint: 'chat', stream: true, tools: false, instructions: '' }

export function restore(): Conversation {
  try {
    const kept = JSON.parse(sessionStorage.getItem(name) ?? '') as Conversation
    if (kept.id && Array.isArray(kept.messages)) return { ...kept, settings: { ...fresh, ...kept.settings } }
  } catch {
    // nothing is kept, or by another version
  }
  return { id: uuid(), own: true, settings: fresh, messages: [] }
}

// forget leaves nothing of a conversation in this tab.
export function forget(): void {
  sessionStorage.removeItem(name)
}

function keep(c: Conversation) {
  try {
    sessionStorage.setItem(name, JSON.stringify(c))
  } catch {
    // the tab's room is full: the conversation goes on, and ends with the page
  }
}

export function useConversation(gateway: string, key: string) {
  const [conversation, setConversation] = useState(restore)
  const [partial, setPartial] = useState<string | null>(null) // of the answer that is coming in
  const coming = useRef('') // the same, for whoever stops it
  const running = useRef<AbortController | null>(null)
  const now = useRef(conversation)

  const change = useCallback((next: Conversation) => {
    now.current = next
    keep(next)
    setConversation(next)
  }, [])
  const add = useCallback((...messages: Message[]) => change({ ...now.current, messages: [...now.current.messages, ...messages] }), [change])

  useEffect(() => {
    keep(now.current) // the id is there before the first request
    return () => running.current?.abort()
  }, [])

  // answer asks for the answer to what stands there, tool round trips included.
  const answer = useCallback(async () => {
    const control = new AbortController()
    running.current = control
    const show = (text: string) => {
      if (running.current !== control) return // what was read before it was stopped
      coming.current = text
      setPartial(text)
    }
    show('')
    try {
      for (let round = 0; round < maxRounds; round++) {
        const { id, own, settings, messages } = now.current
        const sent = await send({ gateway, key, session: own ? id : '', settings, history: messages, signal: control.signal, onText: show })
        if (control.signal.aborted) return
        const { reply } = sent
        add({ role: 'assistant', text: reply.text, calls: reply.calls, facts: sent.facts, failure: sent.failure })
        if (sent.failure || reply.calls.length === 0) return
        add(...reply.calls.map((c): Message => ({ role: 'tool', id: c.id, name: c.name, result: runTool(c) })))
        show('')
      }
    } catch {
      if (!control.signal.aborted) add({ role: 'assistant', text: '', calls: [], failure: unreached })
    } finally {
      if (running.current === control) {
        running.current = null
        setPartial(null)
      }
    }
  }, [add, gateway, key])

  const ask = useCallback((text: string) => {
    add({ role: 'user', text })
    return answer()
  }, [add, answer])

  const leave = useCallback(() => {
    running.current?.abort()
    running.current = null
    setPartial(null)
  }, [])

  // stop keeps what has been shown.
  const stop = useCallback(() => {
    if (!running.current) return
    leave()
    add({ role: 'assistant', text: coming.current, calls: [], failure: { status: 0, code: 'stopped', message: '', requestId: '' } })
  }, [add, leave])

  // again asks once more for the answer that did not come, or broke off.
  const again = useCallback(() => {
    const { messages } = now.current
    const last = messages.at(-1)
    if (last?.role === 'assistant' && last.failure) change({ ...now.current, messages: messages.slice(0, -1) })
    return answer()
  }, [answer, change])

  return {
    conversation, partial, busy: partial !== null, ask, again, stop, open: unanswered(conversation.messages),
    set: (settings: Partial<Settings>) => change({ ...now.current, settings: { ...now.current.settings, ...settings } }),
    setOwn: (own: boolean) => change({ ...now.current, own }),
    // startAnew gives the conversation another id; clear forgets the
    // instructions as well.
    startAnew: () => { leave(); change({ ...now.current, id: uuid(), messages: [] }) },
    clear: () => { leave(); change({ ...now.current, id: uuid(), messages: [], settings: { ...now.current.settings, instructions: '' } }) },
  }
}

// unanswered reports whether the last message has no answer, or one that failed:
// the page was loaded anew meanwhile, it was stopped, or it was refused.
function unanswered(messages: Message[]): boolean {
  const last = messages.at(-1)
  return last !== undefined && (last.role !== 'assistant' || last.failure !== undefined)
}

const unreached: Failure = { status: 0, code: 'unreachable', message: '', requestId: '' }
