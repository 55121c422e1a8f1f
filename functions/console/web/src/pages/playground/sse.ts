// Server-sent events, as the three protocols use them.

export interface ServerEvent {
  name: string
  data: string
}

// events reads a stream to its end, an event at a time.
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true })
      const blocks = rest.split(/\r?\n\r?\n/)
      rest = done ? '' : (blocks.pop() ?? '')
      for (const block of blocks) {
        const event = parse(block)
        if (event) yield event
      }
      if (done) return
    }
  } finally {
    reader.releaseLock()
  }
}

function parse(block: string): ServerEvent | undefined {
  let name = 'message'
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('event:')) name = line.slice(6).trim()
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''))
  }
  return data.length === 0 ? undefined : { name, data: data.join('\n') }
}
