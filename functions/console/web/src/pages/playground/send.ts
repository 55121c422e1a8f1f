import { failure as readFailure } from '../../api/client'
import { Gathering, whole, type Reply } from './answer'
import { paths, request, type Facts, type Failure, type Message, type Settings } from './dialog'
import { events } from './sse'

export interface Sending {
  gateway: string // '' for this origin
  key: string
  session: string // '' sends none: the gateway infers it
  settings: Settings
  history: Message[]
  signal: AbortSignal
  onText(text: string): void
}

export interface Sent {
  reply: Reply
  facts: Facts
  failure?: Failure
}

// send asks for one answer and tells how it was served.
export async function send(s: Sending): Promise<Sent> {
  const start = performance.now()
  const response = await fetch(s.gateway + paths[s.settings.endpoint], {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${s.key}`,
      ...(s.settings.endpoint === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
      ...(s.session ? { 'X-Session-Id': s.session } : {}),
    },
    body: JSON.stringify(request(s.settings, s.history)),
    signal: s.signal,
    credentials: 'omit',
  })
  const facts = told(response, s.settings)
  const done = (reply: Reply, failed?: Failure): Sent => {
    facts.durationMs = performance.now() - start
    facts.tokens = reply.tokens
    return { reply, facts, failure: failed }
  }
  if (!response.ok) {
    const error = readFailure(response, await response.text())
    return done({ text: '', calls: [], tokens: null }, { status: error.status, code: error.code, message: error.message, requestId: error.requestId })
  }
  if (!(response.headers.get('Content-Type') ?? '').startsWith('text/event-stream') || !response.body) {
    const body: unknown = await response.json()
    facts.firstByteMs = performance.now() - start
    return done(whole(s.settings.endpoint, body))
  }
  const gathering = new Gathering(s.settings.endpoint)
  try {
    for await (const event of events(response.body)) {
      if (gathering.take(event.data)) {
        facts.firstByteMs ??= performance.now() - start
        s.onText(gathering.reply.text)
      }
    }
  } catch (error) {
    if (s.signal.aborted) throw error
    gathering.reply.error ??= { message: '', code: 'stream_broken' }
  }
  const { error } = gathering.reply
  return done(gathering.reply, error && { status: response.status, code: error.code, message: error.message, requestId: facts.requestId })
}

function told(response: Response, s: Settings): Facts {
  const say = (name: string) => response.headers.get(name) ?? ''
  return {
    model: s.model, endpoint: s.endpoint,
    session: say('X-Session-Id'), source: say('X-Holdfast-Session-Source'), affinity: say('X-Holdfast-Affinity'),
    deployment: say('X-Holdfast-Deployment'), attempts: say('X-Holdfast-Attempts'),
    requestId: say('X-Holdfast-Request-Id') || say('X-Request-Id'), dropped: say('X-Holdfast-Dropped'), cache: say('X-Holdfast-Cache'),
    firstByteMs: null, durationMs: 0, tokens: null,
  }
}
