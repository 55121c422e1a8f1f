import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { timeOf, type Document } from '../../api/config'
import { event } from '../../test/recorded'
import { serve, show, type Answer, type Asked } from '../../test/server'
import { at } from './DocumentForm'
import { headerLines } from './Explain'
import { folded } from '../../ui/Diff'
import { Routing } from './Routing'

const document_: Document = {
  session: { enabled: true }, affinity: { enabled: true, ttl: '1h0m0s' },
  connections: [{ id: 'east', provider: 'openai' }],
  deployments: [{ id: 'gpt-east', model: 'gpt-5', connection: 'east', protocol: 'chat', weight: 1, secret_field: 'kept' }],
  groups: [{ name: 'smart', members: ['gpt-5'] }], keys: [{ id: 'ann' }],
}
const config = () => ({ body: document_, headers: { ETag: '"r1"' } })

describe('the editor', () => {
  it('changes what its form shows, leaves the rest, and saves against the revision that was read', async () => {
    const asked = serve({ 'GET /admin/config': config, 'PUT /admin/config': () => ({ body: { revision: 'r2', problems: [] } }) })
    show(<Routing />, '/routing?tab=edit')
    const save = await screen.findByRole('button', { name: 'Save' })
    expect((save as HTMLButtonElement).disabled).toBe(true)
    await userEvent.click(screen.getByRole('switch', { name: 'gpt-east' }))
    await userEvent.click(save)
    expect(await screen.findByText(/Saved as revision r2/)).toBeTruthy()
    const put = asked.find((a) => a.method === 'PUT')!
    expect(put.headers.get('If-Match')).toBe('"r1"')
    expect(JSON.parse(put.body)).toEqual({ ...document_, deployments: [{ ...document_.deployments[0], enabled: false }] })
  })

  it('shows every problem that the server finds, with its path and at its field', async () => {
    serve({
      'GET /admin/config': config,
      'PUT /admin/config': () => ({ status: 400, headers: { 'X-Request-Id': 'req_9' }, body: { error: { message: 'The document may not rule.', code: 'invalid_request' }, problems: [{ path: 'deployments[0].weight', message: 'must not be negative' }] } }),
    })
    show(<Routing />, '/routing?tab=edit')
    const weight = await screen.findByLabelText('Weight')
    await userEvent.clear(weight)
    await userEvent.type(weight, '7')
    await userEvent.click(screen.getByRole('button', { name: 'Save' }))
    const alert = await screen.findByRole('alert')
    for (const text of ['The document may not rule.', 'deployments[0].weight', 'req_9']) expect(alert.textContent).toContain(text)
    expect(weight.getAttribute('aria-invalid')).toBe('true')
  })

  it('draws the beginning of a long document, and more of it when asked', async () => {
    const many = { ...document_, deployments: Array.from({ length: 60 }, (_, i) => ({ ...document_.deployments[0]!, id: `d${i}` })) }
    const asked = serve({ 'GET /admin/config': () => ({ body: many, headers: { ETag: '"r1"' } }), 'PUT /admin/config': () => ({ body: { revision: 'r2' } }) })
    show(<Routing />, '/routing?tab=edit')
    const rows = () => document.querySelectorAll('.form-lines .form-row') // labels take jsdom minutes
    await waitFor(() => expect(rows()).toHaveLength(50))
    fireEvent.click(screen.getByText('Show more'))
    expect(rows()).toHaveLength(60)
    fireEvent.click(rows()[59]!.querySelector('[role=switch]')!)
    fireEvent.click(screen.getByText('Save'))
    await screen.findByText(/Saved as revision r2/)
    const sent = JSON.parse(asked.find((a) => a.method === 'PUT')!.body).deployments
    expect([sent.length, sent[59].enabled, sent[58].enabled]).toEqual([60, false, undefined])
  })

  it('keeps the draft while another view is looked at', async () => {
    serve({ 'GET /admin/config': config, 'GET /admin/deployments': () => ({ body: { entries: [] } }) })
    show(<Routing />, '/routing?tab=edit')
    const live = await screen.findByLabelText('Preferences live')
    await userEvent.clear(live)
    await userEvent.type(live, '2h')
    await userEvent.click(screen.getByRole('radio', { name: 'Explain' }))
    await screen.findByLabelText('Body (JSON)')
    await userEvent.click(screen.getByRole('radio', { name: 'Edit' }))
    expect((await screen.findByLabelText<HTMLInputElement>('Preferences live')).value).toBe('2h')
    await userEvent.click(screen.getByRole('button', { name: 'Discard' }))
    await userEvent.click(screen.getByRole('radio', { name: 'Live' }))
    await userEvent.click(screen.getByRole('radio', { name: 'Edit' }))
    expect((await screen.findByLabelText<HTMLInputElement>('Preferences live')).value).toBe('1h0m0s')
  })

  it('is told of a newer revision, and takes a document that is no JSON', async () => {
    serve({ 'GET /admin/config': config, 'PUT /admin/config': () => ({ status: 409, body: { error: { message: 'Somebody was faster.', code: 'revision_conflict' } } }) })
    show(<Routing />, '/routing?tab=edit')
    await userEvent.click(await screen.findByRole('radio', { name: 'Document' }))
    await userEvent.type(screen.getByLabelText('Document', { selector: 'textarea' }), '# yaml')
    await userEvent.click(screen.getByRole('button', { name: 'Save' }))
    expect((await screen.findByRole('alert')).textContent).toContain('Somebody was faster.')
    expect(screen.getByText(/Copy what you want to keep/)).toBeTruthy()
    await userEvent.click(screen.getByRole('radio', { name: 'Form' }))
    expect(screen.getByText(/The draft is not JSON/)).toBeTruthy()
  })
})

describe('the live view', () => {
  const live = { deployment: 'gpt-east', model: 'gpt-5', connection: 'east', protocol: 'chat', enabled: true, weight: 1, cooling_until: null, cooling_reason: '', drained: false, traffic_share: 0.75, cache_hit_share: 0.9 }

  it('shows all deployments, however many pages they take', async () => {
    serve({ 'GET /admin/config': config, 'GET /admin/deployments': (a) => ({ body: a.search.get('cursor') ? { entries: [{ ...live, deployment: 'last' }], next_cursor: '' } : { entries: [live], next_cursor: 'c' } }) })
    show(<Routing />, '/routing')
    const table = await screen.findByRole('table', { name: 'Deployments' })
    expect(within(table).getAllByRole('row').slice(1).map((r) => r.querySelector('strong')?.textContent)).toEqual(['gpt-east', 'last'])
  })

  it('shows the state of each deployment and changes it', async () => {
    const asked = serve({
      'GET /admin/config': config, 'GET /admin/deployments': () => ({ body: { entries: [live, { ...live, deployment: 'gpt-west', cooling_until: new Date(Date.now() + 60_000).toISOString(), drained: true }] } }),
      'POST /admin/deployments/gpt-east/cooldown': () => ({}), 'DELETE /admin/deployments/gpt-west/drain': () => ({}),
    })
    show(<Routing />, '/routing')
    const table = await screen.findByRole('table', { name: 'Deployments' })
    for (const text of ['serving', 'cooling until', 'drained', '75.0%', '90.0%']) expect(table.textContent).toContain(text)
    await userEvent.click(within(table).getByRole('button', { name: 'Cool 60 s: gpt-east' }))
    await waitFor(() => expect(asked.find((a: Asked) => a.path.endsWith('/cooldown'))?.body).toBe('{"seconds":60}'))
    await userEvent.click(within(table).getByRole('button', { name: 'Undrain gpt-west' }))
    await waitFor(() => expect(asked.some((a: Asked) => a.method === 'DELETE')).toBe(true))
  })
})

describe('the explain box', () => {
  it('plans a pasted request', async () => {
    const asked = serve({ 'GET /admin/config': config, 'POST /admin/explain': (): Answer => ({ body: { ...event.explanation, affinity: 'moved', session: { session_id: 'scoped-1', session_source: 'explicit' } } }) })
    show(<Routing />, '/routing?tab=explain')
    await userEvent.click(await screen.findByRole('button', { name: 'Explain' }))
    expect(await screen.findByText(/was not kept: it is cooling down/)).toBeTruthy()
    expect(JSON.parse(asked.find((a) => a.path === '/admin/explain')!.body)).toEqual({
      endpoint: 'chat', key: 'ann', headers: { 'X-Session-Id': 'example' }, body: { model: 'smart', messages: [{ role: 'user', content: 'Hello' }] },
    })
  })
  it('reads headers as they are pasted', () => {
    expect(headerLines('A: 1\n\nnothing\nX-Url: http://x')).toEqual({ A: '1', 'X-Url': 'http://x' })
  })
})

const old = '20261130T101112.345678901-ABCDEFGH'

describe('revisions', () => {
  it('are compared with the one in force and restored', async () => {
    const before = { ...document_, deployments: [{ ...document_.deployments[0]!, weight: 9 }] }
    const asked = serve({
      'GET /admin/config': config, 'GET /admin/config/revisions': () => ({ body: { entries: [{ revision: 'r1' }, { revision: old }], next_cursor: '' } }),
      [`GET /admin/config/revisions/${old}`]: () => ({ body: before }), 'PUT /admin/config': () => ({ body: { revision: 'r3', problems: [] } }),
    })
    show(<Routing />, '/routing?tab=revisions')
    await userEvent.click(await screen.findByRole('button', { name: new RegExp(old) }))
    const diff = await screen.findByLabelText('Changes since', { selector: 'pre' })
    expect(diff.querySelector('.removed')?.textContent).toContain('"weight": 9')
    expect(diff.querySelector('.added')?.textContent).toContain('"weight": 1')
    await userEvent.click(screen.getByRole('button', { name: 'Restore' }))
    await userEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Restore' }))
    expect(await screen.findByText('Restored as a new revision.')).toBeTruthy()
    const put = asked.find((a) => a.method === 'PUT')!
    expect([put.headers.get('If-Match'), JSON.parse(put.body)]).toEqual(['"r1"', before])
  })
  it('say when they were stored', () => {
    expect(timeOf(old)).toBe('2026-11-30T10:11:12.345Z')
    expect(timeOf('20261130T101112.345-ABCDEFGH')).toBe('2026-11-30T10:11:12.345Z') // an older one
    expect(timeOf('initial')).toBe('')
  })
  it('leave out what is far from a change', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `l${i}`).join('\n') + '\n'
    expect(folded(lines, false, false, String).split('\n').filter(Boolean)).toHaveLength(7)
    expect(folded('a\nb\n', false, false, String)).toBe('  a\n  b\n')
  })
})

describe('the audit trail', () => {
  const change = { id: 'c1', time: '2026-11-30T10:11:12Z', who: 'admin', action: 'key.change', target: 'ci', before: { id: 'ci', enabled: true }, after: { id: 'ci', enabled: false }, outcome: 'done' }

  it('shows who has changed what, when, from what to what', async () => {
    serve({
      'GET /admin/audit/changes': () => ({ body: { entries: [change, { ...change, id: 'c0', action: 'config.replace', target: 'config', before: { revision: old }, after: null, outcome: 'begun' }], next_cursor: '' } }),
    })
    show(<Routing />, '/routing?tab=changes')
    const table = await screen.findByRole('table', { name: 'Changes' })
    for (const text of ['Key changed', 'ci', 'admin', 'done', 'Configuration saved', 'begun']) expect(table.textContent).toContain(text)
    await userEvent.click(within(table).getByRole('button', { name: 'Details of Key changed ci' }))
    const diff = within(table).getByLabelText('Before and after of ci')
    expect([diff.querySelector('.removed')?.textContent, diff.querySelector('.added')?.textContent]).toEqual(['−   "enabled": true\n', '+   "enabled": false\n'])
    await userEvent.click(within(table).getByRole('button', { name: 'Details of Configuration saved config' }))
    expect(within(table).getByText(/It may or may not have been made/)).toBeTruthy()
    expect(within(table).getByRole('link', { name: 'Compare the revisions' }).getAttribute('href')).toBe('/routing?tab=revisions&revision=' + old)
    expect(screen.getByRole('link', { name: 'Changes as CSV' }).getAttribute('href')).toBe('/admin/audit/changes?limit=200&format=csv')
  })

  it('says when there is none, and the message and request id where it cannot be had', async () => {
    let fails = true
    serve({ 'GET /admin/audit/changes': () => fails ? { status: 503, headers: { 'X-Request-Id': 'req_8' }, body: { error: { message: 'The store is away.' } } } : { body: { entries: [] } } })
    show(<Routing />, '/routing?tab=changes')
    const alert = await screen.findByRole('alert')
    expect(alert.textContent).toContain('req_8')
    fails = false
    await userEvent.click(within(alert).getByRole('button', { name: 'Try again' }))
    expect(await screen.findByText('Nothing was changed yet')).toBeTruthy()
  })
})

describe('problems', () => {
  it('belong to a field or what is in it', () => {
    const all = [{ path: 'a[1].b', message: 'm' }]
    expect([at(all, 'a[1]'), at(all, 'a[1].b'), at(all, 'a[1].bc'), at(all, 'a[10]')]).toEqual(['m', 'm', undefined, undefined])
  })
})
