import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { periodStart, type Key } from '../../api/keys'
import { summary } from '../../test/recorded'
import { serve, show } from '../../test/server'
import { heldKey } from '../playground/key'
import { Keys } from './Keys'

const key: Key = {
  id: 'ci', user: 'ci', team: 'core', organization: 'acme', user_path: '/acme/core/ci', models: ['gpt-5'], template: '', budget: { usd: 0.1, period: 'monthly' },
  limits: { rpm: 60, tpm: 200_000 }, enabled: true, expires: '',
}
const routes = {
  'GET /admin/keys': () => ({ body: { entries: [key], next_cursor: '' } }),
  'GET /admin/config': () => ({ body: { connections: [], deployments: [], keys: [{ id: 'demo', user: 'demo-user', models: ['*'] }] }, headers: { ETag: '"r1"' } }),
  'GET /admin/usage/summary': () => ({ body: summary }),
}

describe('the keys page', () => {
  it('shows limits, and budgets as bars of what is spent', async () => {
    const asked = serve(routes)
    show(<Keys />)
    const bar = await screen.findByRole('meter', { name: 'Spent of the budget of ci' })
    await waitFor(() => expect(bar.getAttribute('aria-valuetext')).toBe('$0.0800 of $0.1000 a month'))
    const sums = asked.find((a) => a.path === '/admin/usage/summary')!
    expect([sums.search.get('key'), sums.search.get('from')]).toEqual(['ci', periodStart('monthly').toISOString()])
    const table = screen.getByRole('table', { name: 'Keys' })
    for (const text of ['60 req/min', '200K tok/min', '/acme/core/ci']) expect(table.textContent).toContain(text)
    expect((await screen.findByRole('table', { name: 'Keys of the configuration document' })).textContent).toContain('demo')
  })

  it('makes a key and shows its secret once', async () => {
    const asked = serve({ ...routes, 'POST /admin/keys': () => ({ status: 201, body: { ...key, id: 'web', key: 'sk-hf-secret' } }) })
    show(<Keys />)
    await userEvent.click((await screen.findAllByRole('button', { name: 'Create a key' }))[0]!)
    const dialog = screen.getByRole('dialog')
    await userEvent.type(within(dialog).getByLabelText('Key'), 'web')
    await userEvent.type(within(dialog).getByLabelText('Budget, USD'), '5')
    await userEvent.click(within(dialog).getByRole('button', { name: 'Create a key' }))
    expect((await screen.findByTestId('secret')).textContent).toBe('sk-hf-secret')
    expect(JSON.parse(asked.find((a) => a.method === 'POST')!.body)).toEqual({ id: 'web', budget: { usd: 5, period: 'monthly' } })
    await userEvent.click(screen.getByRole('button', { name: 'I have stored it' }))
    expect(screen.queryByText('sk-hf-secret')).toBeNull()
    expect(heldKey()).toBe('')
  })

  it('disables, and asks before it removes', async () => {
    const asked = serve({ ...routes, 'PATCH /admin/keys/ci': () => ({ body: { ...key, enabled: false } }), 'DELETE /admin/keys/ci': () => ({ status: 200 }) })
    show(<Keys />)
    await userEvent.click(await screen.findByRole('switch', { name: 'on' }))
    await waitFor(() => expect(asked.find((a) => a.method === 'PATCH')?.body).toBe('{"enabled":false}'))
    await userEvent.click(screen.getByRole('button', { name: 'Remove ci' }))
    expect(asked.some((a) => a.method === 'DELETE')).toBe(false)
    await userEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Remove' }))
    await waitFor(() => expect(asked.some((a) => a.method === 'DELETE')).toBe(true))
  })

  it('shows what is wrong with a key at its field', async () => {
    serve({ ...routes, 'POST /admin/keys': () => ({ status: 400, body: { error: { message: 'Not valid.', code: 'invalid_request' }, problems: [{ path: 'team', message: 'there is no such team' }] } }) })
    show(<Keys />)
    await userEvent.click((await screen.findAllByRole('button', { name: 'Create a key' }))[0]!)
    const dialog = screen.getByRole('dialog')
    await userEvent.type(within(dialog).getByLabelText('Team'), 'x')
    await userEvent.click(within(dialog).getByRole('button', { name: 'Create a key' }))
    await waitFor(() => expect(within(dialog).getByLabelText('Team').getAttribute('aria-invalid')).toBe('true'))
  })
})

describe('a budget', () => {
  it('runs by UTC days, weeks from Monday and months', () => {
    const now = new Date('2026-12-02T23:30:00-05:00') // Thursday in UTC
    expect([periodStart('daily', now), periodStart('weekly', now), periodStart('monthly', now)].map((d) => d.toISOString().slice(0, 16)))
      .toEqual(['2026-12-03T00:00', '2026-11-30T00:00', '2026-12-01T00:00'])
  })
})
