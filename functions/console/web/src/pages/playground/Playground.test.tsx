import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { serve, show, type Answer, type Asked } from '../../test/server'
import { restore } from './conversation'
import { holdKey } from './key'
import { Playground } from './Playground'

const caller = {
  id: 'ann', user_path: '/acme/ann',
  models: [
    { name: 'gpt-5', group: false, endpoints: ['chat', 'responses'], deployments: ['gpt-east'] },
    { name: 'smart', group: true, endpoints: ['chat', 'responses', 'messages'], deployments: ['gpt-east'] },
  ],
  prices: { 'gpt-east': { input: 3, cached_input: 0.3, cache_write: 0, cache_write_1h: 0, output: 15 } },
}
const headers = {
  'X-Session-Id': 'given', 'X-Holdfast-Session-Source': 'explicit', 'X-Holdfast-Affinity': 'hit', 'X-Holdfast-Deployment': 'gpt-east', 'X-Holdfast-Attempts': '1', 'X-Request-Id': 'req_1',
}
const data = (...events: object[]) => events.map((e) => `data: ${JSON.stringify(e)}\n\n`)
const done = { choices: [], usage: { prompt_tokens: 2000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 1500 } } }
const said = (text: string, more: object = {}): Answer => ({ headers: { ...headers, ...more }, stream: data({ choices: [{ delta: { content: text } }] }, done) })

function open(chat: (asked: Asked) => Answer, gateway = '') {
  holdKey('sk-test-key-0000')
  const asked = serve({ 'POST /console/caller': () => ({ body: caller }), 'POST /v1/chat/completions': chat })
  const page = show(<Playground session={{ role: 'admin', gateway }} />)
  const sent = () => asked.filter((a) => a.path === '/v1/chat/completions')
  const say = async (text: string) => {
    await screen.findByText(/Acts as ann/)
    await userEvent.type(screen.getByLabelText('Message'), text)
    await userEvent.click(screen.getByRole('button', { name: 'Send' }))
  }
  return { sent, say, ...page }
}

describe('the playground', () => {
  it('has an id before the first request, sends it with each, and tells how it was served', async () => {
    const p = open(() => said('Hello Ann'))
    const id = screen.getByTestId('session-id').textContent
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    await p.say('Hi')
    expect(await screen.findByText('Hello Ann')).toBeTruthy()
    const facts = document.querySelector('.facts')?.textContent
    for (const text of ['gpt-east', 'hit', '1,500 tok', '500 tok', '$0.0021']) expect(facts).toContain(text)
    await p.say('More')
    await waitFor(() => expect(p.sent()).toHaveLength(2))
    for (const a of p.sent()) {
      expect(a.headers.get('X-Session-Id')).toBe(id)
      expect(a.headers.get('Authorization')).toBe('Bearer sk-test-key-0000')
    }
    expect(JSON.parse(p.sent()[1]!.body).messages).toHaveLength(3)
  })

  it('keeps id and history over a refresh and changes the id with a new conversation', async () => {
    const p = open(() => said('Kept'))
    await p.say('Hi')
    await screen.findByText('Kept')
    const id = screen.getByTestId('session-id').textContent
    p.unmount()
    open(() => said('Other'))
    expect(screen.getByText('Kept')).toBeTruthy()
    expect(screen.getByTestId('session-id').textContent).toBe(id)
    expect(restore().id).toBe(id)
    await userEvent.click(screen.getByRole('button', { name: 'New conversation' }))
    expect(screen.queryByText('Kept')).toBeNull()
    const next = screen.getByTestId('session-id').textContent
    expect(next).not.toBe(id)
    await userEvent.click(screen.getByRole('button', { name: 'Clear' }))
    expect(screen.getByTestId('session-id').textContent).not.toBe(next)
  })

  it('runs the demo tool and sends its result in the same session', async () => {
    let calls = 0
    const p = open(() => ++calls > 1 ? said('It is noon') : {
      headers, stream: data({ choices: [{ delta: { tool_calls: [{ index: 0, id: 'c1', function: { name: 'current_time', arguments: '{"timezone":"Asia/Shanghai"}' } }] } }] }, done),
    })
    await userEvent.click(screen.getByRole('switch', { name: 'Demo tool' }))
    await p.say('Time?')
    expect(await screen.findByText('It is noon')).toBeTruthy()
    const [first, second] = p.sent()
    expect(second!.headers.get('X-Session-Id')).toBe(first!.headers.get('X-Session-Id'))
    expect(JSON.parse(second!.body).messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'c1', content: expect.stringContaining('Asia/Shanghai') })
  })

  it('sends no id when told so, and marks what was inferred', async () => {
    const p = open(() => said('Fine', { 'X-Session-Id': 'derived-1', 'X-Holdfast-Session-Source': 'prompt' }))
    await userEvent.click(screen.getByRole('switch', { name: 'Use my own session id' }))
    await p.say('Hi')
    await screen.findByText('Fine')
    expect(p.sent()[0]!.headers.has('X-Session-Id')).toBe(false)
    expect(screen.getByTestId('session-id').textContent).toBe('derived-1')
    expect(screen.getAllByText('inferred').length).toBe(2)
  })

  it('shows a refusal with the server\'s words and the request id, and goes on', async () => {
    let calls = 0
    const p = open(() => ++calls > 1 ? said('Better') : {
      status: 429, headers: { 'X-Holdfast-Error': 'deployments_cooling', 'X-Request-Id': 'req_77' }, body: { error: { message: 'All rest until noon.', code: 'deployments_cooling' } },
    })
    await p.say('Hi')
    const alert = await screen.findByRole('alert')
    for (const text of ['All rest until noon.', '429 deployments_cooling', 'req_77']) expect(within(alert).getByText(text, { exact: false })).toBeTruthy()
    await p.say('Again')
    expect(await screen.findByText('Better')).toBeTruthy()
  })

  it('asks again for an answer that did not come, without saying anything twice', async () => {
    let calls = 0
    const p = open(() => ++calls > 1 ? said('Better') : { status: 503, body: { error: { message: 'Not now.', code: 'no_eligible_deployment' } } })
    await p.say('Hi')
    await screen.findByText('Not now.', { exact: false })
    await userEvent.click(screen.getByRole('button', { name: 'Ask again' }))
    expect(await screen.findByText('Better')).toBeTruthy()
    expect(screen.queryByRole('alert')).toBeNull()
    expect(screen.queryByRole('button', { name: 'Ask again' })).toBeNull()
    expect(p.sent().map((a) => JSON.parse(a.body).messages)).toEqual([[{ role: 'user', content: 'Hi' }], [{ role: 'user', content: 'Hi' }]])
  })

  it('keeps what has been shown when it is stopped', async () => {
    const p = open(() => ({ headers, stream: data({ choices: [{ delta: { content: 'Half an' } }] }), open: true }))
    await p.say('Hi')
    await screen.findByText('Half an')
    await userEvent.click(screen.getByRole('button', { name: 'Stop' }))
    expect(await screen.findByText(/^Stopped/)).toBeTruthy()
    expect(screen.getByText('Half an')).toBeTruthy()
    expect(restore().messages).toMatchObject([{ role: 'user', text: 'Hi' }, { role: 'assistant', text: 'Half an', failure: { code: 'stopped' } }])
  })

  it('says what the gateway has answered by itself, which costs nothing', async () => {
    const p = open(() => said('Kept', { 'X-Holdfast-Cache': 'hit', 'X-Holdfast-Deployment': '' }))
    await p.say('Hi')
    await screen.findByText('Kept')
    const facts = [...document.querySelectorAll('.facts > div')].map((d) => d.textContent)
    expect(facts).toContain('Gateway cachehit')
    expect(facts).toContain('Cost$0.00')
  })

  it('offers what the key may use, and other endpoints with other models', async () => {
    open(() => said('x'))
    await screen.findByText(/Acts as ann/)
    expect(screen.queryByRole('radio', { name: 'messages' })).toBeNull()
    await userEvent.selectOptions(screen.getByLabelText('Model or group'), 'smart')
    expect(screen.getByRole('radio', { name: 'messages' })).toBeTruthy()
  })
})
