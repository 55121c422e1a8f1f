import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import type { Key } from '../../api/keys'
import { serve, show } from '../../test/server'
import { heldKey } from '../playground/key'
import { draftOf, fieldsOf } from './KeyForm'
import { Keys } from './Keys'

const key: Key = {
  id: 'ci', source: 'stored', user: 'ci', team: 'core', organization: 'acme', user_path: '/acme/core/ci', models: ['gpt-5'], template: '', budget: { usd: 0.1, period: 'monthly' },
  limits: { rpm: 60, tpm: 200_000 }, enabled: true, expires: '', spending: { spent_usd: 0.08, reserved_usd: 0, resets: '2026-12-01T00:00:00Z' },
}
const resets = '2026-12-01T00:00:00Z'
const budgets = [
  { level: 'organization', id: 'acme', usd: 500, period: 'monthly', strict: false, spent_usd: 410.5, reserved_usd: 0, resets },
  { level: 'team', id: 'core', usd: 20, period: 'daily', strict: true, spent_usd: 19, reserved_usd: 1.5, resets },
  { level: 'key', id: 'demo', usd: 4, period: 'daily', strict: false, spent_usd: 1, reserved_usd: 0, resets },
]
const routes = {
  'GET /admin/keys': () => ({ body: { entries: [key, { ...key, id: 'demo', source: 'configuration' }], next_cursor: '' } }),
  'GET /admin/config': () => ({ body: { connections: [], deployments: [], keys: [{ id: 'demo', user: 'demo-user', models: ['*'], budget: { usd: 4, period: 'daily' } }] }, headers: { ETag: '"r1"' } }),
  'GET /admin/budgets': () => ({ body: { entries: budgets, next_cursor: '' } }),
}

describe('the keys page', () => {
  it('shows limits, and budgets as bars of what is spent', async () => {
    serve(routes)
    show(<Keys />)
    const bar = await screen.findByRole('meter', { name: 'Spent of the budget of ci' })
    expect(bar.getAttribute('aria-valuetext')).toBe('$0.0800 of $0.1000 a month')
    expect((await screen.findByRole('meter', { name: 'Spent of the budget of demo' })).getAttribute('aria-valuetext')).toBe('$1.00 of $4.00 a day')
    const table = screen.getByRole('table', { name: 'Keys' })
    for (const text of ['60 req/min', '200K tok/min', '/acme/core/ci']) expect(table.textContent).toContain(text)
    expect(table.textContent).not.toContain('demo') // which stands in the other table, where nothing can be changed
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

describe('shared budgets', () => {
  it('have bars of their own, with what is reserved, what is left and when they begin anew', async () => {
    serve(routes)
    show(<Keys />)
    const table = await screen.findByRole('table', { name: 'Budgets of organizations and teams' })
    const bars = within(table).getAllByRole('meter').map((m) => m.getAttribute('aria-valuetext'))
    expect(bars).toEqual(['$410.50 of $500.00 a month', '$20.50 of $20.00 a day'])
    for (const text of ['$89.50', '$0.00', 'strict', 'soft', 'organization', 'team']) expect(table.textContent).toContain(text)
  })

  it('say when there is none and where they are made', async () => {
    serve({ ...routes, 'GET /admin/budgets': () => ({ body: { entries: [], next_cursor: '' } }) })
    show(<Keys />)
    expect(await screen.findByText(/No organization and no team has a budget/)).toBeTruthy()
  })
})

describe('a changed key', () => {
  it('keeps what its form was not asked to change', () => {
    const known: Key = { ...key, models: [], expires: '2027-01-31T18:00:00Z', limits: { rpm: 60, tpm: 0, strict: true } }
    const was = draftOf(known)
    expect(fieldsOf({ ...was, user: 'eve' }, was)).toEqual({ user: 'eve' }) // no models stays no models
    expect(fieldsOf({ ...was, rpm: '90' }, was)).toEqual({ limits: { rpm: 90, tpm: 0, strict: true } })
    expect(fieldsOf({ ...was, usd: '' }, was)).toEqual({ budget: null })
    expect(fieldsOf({ ...was, models: ' * ' }, was)).toEqual({ models: ['*'] })
  })
})
