import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { event, session, usageSession } from '../../test/recorded'
import { serve, show } from '../../test/server'
import { Sessions } from './Sessions'

const routes = {
  'GET /admin/audit/sessions': () => ({ body: { entries: [session], next_cursor: '', total: 1, limit: 100, offset: 0 } }),
  'GET /admin/usage/sessions': () => ({ body: { entries: [usageSession], next_cursor: '', total: 1, limit: 100, offset: 0 } }),
  'GET /admin/audit/log': () => ({ body: { entries: [event], next_cursor: '' } }),
}

describe('the sessions page', () => {
  it('shows one row a session with what it used', async () => {
    serve(routes)
    show(<Sessions />, '/sessions')
    const table = await screen.findByRole('table', { name: 'Sessions' })
    const row = within(table).getAllByRole('row')[1]!
    for (const text of ['0123456789ab', 'inferred', 'gpt-5', 'smart', 'gpt-east', 'gpt-west', '104K', '81.0%', '$0.0800', '$0.0911']) expect(row.textContent).toContain(text)
    for (const link of within(row).getAllByRole('link')) expect(link.getAttribute('href')).toBe(`/usage?session_id=${session.session_id}&days=7`)
    expect(within(row).getAllByRole('link')).toHaveLength(2) // the badge and the chart
  })

  it('opens to each turn, and each turn to its reasons', async () => {
    const asked = serve(routes)
    show(<Sessions />, '/sessions?model=gpt-5&days=30')
    await userEvent.click(await screen.findByRole('button', { name: 'Details of 0123456789ab' }))
    const turns = await screen.findByRole('table', { name: 'Turns of this session' })
    await userEvent.click(await within(turns).findByRole('button', { name: /^Details of / }))
    expect(turns.textContent).toContain('The preference for gpt-east was not kept: it is cooling down.')
    expect(turns.textContent).toContain('rate_limited')
    expect(turns.textContent).toContain('req_A')
    const list = asked.find((a) => a.path === '/admin/audit/sessions')!
    expect([list.search.get('model'), list.search.get('days')]).toEqual(['gpt-5', '30'])
    const log = asked.find((a) => a.path === '/admin/audit/log')!
    expect([log.search.get('session_id'), log.search.get('model')]).toEqual([session.session_id, null]) // the whole session
  })

  it('narrows to what is clicked, and shows that as a chip', async () => {
    serve(routes)
    const { place } = show(<Sessions />, '/sessions')
    await userEvent.click(await screen.findByRole('button', { name: 'gpt-west' }))
    expect(place.history.at(-1)).toContain('deployment=gpt-west')
    const chips = screen.getByRole('list', { name: 'Active filters' })
    await userEvent.click(within(chips).getByRole('button', { name: 'Remove the filter on deployment' }))
    expect(place.history.at(-1)).not.toContain('deployment=')
  })

  it('says when there is none and what to do', async () => {
    serve({ ...routes, 'GET /admin/audit/sessions': () => ({ body: { entries: [], next_cursor: '', total: 0 } }) })
    show(<Sessions />)
    expect(await screen.findByText('No session in this span')).toBeTruthy()
    expect(screen.getByRole('link', { name: 'Open the playground' }).getAttribute('href')).toBe('/playground')
  })

  it('shows the server\'s message and the request id when it fails, and tries again', async () => {
    let fails = true
    serve({
      ...routes, 'GET /admin/audit/sessions': () => fails
        ? { status: 503, headers: { 'X-Request-Id': 'req_503' }, body: { error: { message: 'The store is away.', code: 'configuration_unavailable' } } }
        : routes['GET /admin/audit/sessions'](),
    })
    show(<Sessions />)
    const alert = await screen.findByRole('alert')
    expect(alert.textContent).toContain('The store is away.')
    expect(alert.textContent).toContain('req_503')
    fails = false
    await userEvent.click(within(alert).getByRole('button', { name: 'Try again' }))
    expect(await screen.findByRole('table', { name: 'Sessions' })).toBeTruthy()
  })

  it('lists exchanges one by one without groups', async () => {
    serve(routes)
    show(<Sessions />)
    await userEvent.click(screen.getByRole('switch', { name: 'Group by session' }))
    expect(await screen.findByRole('table', { name: 'Exchanges' })).toBeTruthy()
  })
})
