import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { event } from '../../test/recorded'
import { serve, show } from '../../test/server'
import { AffinityPage } from './Affinity'

const record = { key: 'abc-123', endpoint: 'chat', model: 'gpt-5', deployment: 'gpt-east', serving_model: 'gpt-5', pool: 'gpt-5', path: [], revision: 'x1', expires: '2026-11-30T11:15:04Z' }
const routes = {
  'GET /admin/affinity': () => ({ body: { session_id: event.session_id, entries: [record], latest: event, next_cursor: '' } }),
  'GET /admin/config': () => ({ body: { connections: [], deployments: [{ id: 'gpt-east', model: 'gpt-5' }, { id: 'gpt-west', model: 'gpt-5' }, { id: 'claude', model: 'c' }] }, headers: { ETag: '"r"' } }),
  'DELETE /admin/affinity/abc-123': () => ({}),
  'PUT /admin/affinity/abc-123': () => ({ body: {} }),
}

describe('the affinity page', () => {
  it('finds a caller\'s own id and shows the record and why', async () => {
    const asked = serve(routes)
    show(<AffinityPage />)
    await userEvent.click(screen.getByRole('radio', { name: "Caller's own id" }))
    await userEvent.type(screen.getByLabelText("caller's session id"), 'my-session')
    await userEvent.type(screen.getByLabelText('Key id'), 'ann')
    await userEvent.click(screen.getByRole('button', { name: 'Look up' }))
    expect(await screen.findByText('abc-123')).toBeTruthy()
    const q = asked.find((a) => a.path === '/admin/affinity')!.search
    expect([q.get('raw_session_id'), q.get('key')]).toEqual(['my-session', 'ann'])
    expect(await screen.findByText(/was not kept: it is cooling down/)).toBeTruthy()
  })

  it('clears after it has asked, and pins to another deployment of the model', async () => {
    const asked = serve(routes)
    show(<AffinityPage />, `/affinity?session_id=${event.session_id}`)
    await userEvent.click(await screen.findByRole('button', { name: 'Pin' }))
    const dialog = screen.getByRole('dialog')
    const choice = await within(dialog).findByLabelText('Deployment')
    await waitFor(() => expect([...choice.querySelectorAll('option')].map((o) => o.textContent)).toEqual(['gpt-east', 'gpt-west']))
    await userEvent.selectOptions(choice, 'gpt-west')
    await userEvent.click(within(dialog).getByRole('button', { name: 'Pin' }))
    await waitFor(() => expect(asked.find((a) => a.method === 'PUT')?.body).toBe('{"deployment":"gpt-west"}'))
    await userEvent.click(screen.getByRole('button', { name: 'Clear' }))
    expect(asked.some((a) => a.method === 'DELETE')).toBe(false)
    await userEvent.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Clear' }))
    await waitFor(() => expect(asked.some((a) => a.method === 'DELETE')).toBe(true))
  })

  it('says when there is no preference', async () => {
    serve({ ...routes, 'GET /admin/affinity': () => ({ body: { entries: [] } }) })
    show(<AffinityPage />, `/affinity?session_id=${event.session_id}`)
    expect(await screen.findByText('This session has no preference')).toBeTruthy()
  })
})
