import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { event, session, summary, usageSession } from '../../test/recorded'
import { serve, show } from '../../test/server'
import { stacked } from '../../charts/TimeChart'
import { moveList } from './Moved'
import { Usage } from './Usage'

vi.mock('uplot', () => ({ default: class { static paths = { bars: () => undefined }; destroy() {} setSize() {} } }))

const page = (entries: object[]) => ({ body: { entries, next_cursor: '', total: entries.length } })
const routes = {
  'GET /admin/usage/summary': () => ({ body: summary }),
  'GET /admin/usage/sessions': () => page([usageSession]),
  'GET /admin/audit/sessions': () => page([session]),
  'GET /admin/audit/log': () => page([event]),
}

describe('the usage page', () => {
  it('tells the story at a glance', async () => {
    serve(routes)
    show(<Usage />)
    const story = await screen.findByRole('region', { name: 'At a glance' })
    for (const text of ['$0.0911', '53.2% of $0.1711 without caches', '81.0%', '$0.0800', '1 failed, 1 moved']) expect(story.textContent).toContain(text)
    expect((await screen.findByText(/gpt-east → gpt-west/)).textContent).toContain('it is cooling down')
  })

  it('has a table twin of each chart', async () => {
    serve(routes)
    show(<Usage />)
    const card = (await screen.findByRole('heading', { name: 'Tokens' })).closest('section')!
    await userEvent.click(within(card).getByRole('radio', { name: 'Table' }))
    const rows = within(card).getAllByRole('row').map((r) => [...r.children].map((c) => c.textContent))
    expect(rows).toEqual([['Time', 'Cached', 'Fresh', 'Written', 'Output'], ['Nov 29', '81K', '19K', '0', '4K'], ['Nov 30', '81K', '19K', '0', '4K']])
  })

  it('shows the cache-hit rate over time by deployment, beside that of all', async () => {
    serve(routes)
    show(<Usage />)
    const card = (await screen.findByRole('heading', { name: 'Cached share by deployment' })).closest('section')!
    await userEvent.click(within(card).getByRole('radio', { name: 'Table' }))
    const rows = within(card).getAllByRole('row').map((r) => [...r.children].map((c) => c.textContent))
    expect(rows).toEqual([['Time', 'All', 'gpt-west', 'gpt-east'], ['Nov 29', '81.0%', '50.0%', '–'], ['Nov 30', '81.0%', '60.0%', '90.0%']])
  })

  it('is filtered by every chip, its tables and its exports alike', async () => {
    const asked = serve(routes)
    const { place } = show(<Usage />, '/usage?days=30&key=ann')
    await userEvent.click(await screen.findByRole('button', { name: '0123456789ab' }))
    expect(place.history.at(-1)).toContain(`session_id=${session.session_id}`)
    const link = screen.getByRole('link', { name: 'Sessions as CSV' }).getAttribute('href')!
    expect(Object.fromEntries(new URL(link, 'http://x').searchParams)).toEqual({ days: '30', key: 'ann', session_id: session.session_id, format: 'csv' })
    for (const path of ['/admin/usage/summary', '/admin/usage/sessions', '/admin/audit/sessions']) {
      expect(asked.filter((a) => a.path === path).at(-1)!.search.get('session_id'), path).toBe(session.session_id)
    }
  })

  it('says when nothing was used', async () => {
    serve({ ...routes, 'GET /admin/usage/summary': () => ({ body: { ...summary, totals: { ...summary.totals, requests: 0 } } }) })
    show(<Usage />)
    expect(await screen.findByText('Nothing was used in this span')).toBeTruthy()
  })
})

describe('what moved', () => {
  it('is looked for beyond the first page where the ledger has counted moves', async () => {
    const still = Array.from({ length: 100 }, (_, i) => ({ ...session, session_id: `scoped-${i}`, moves: 0 }))
    serve({ ...routes, 'GET /admin/audit/sessions': (a) => a.search.get('cursor') === '2' ? page([session]) : { body: { entries: still, next_cursor: '2', total: 101 } } })
    show(<Usage />)
    expect((await screen.findByText(/gpt-east → gpt-west/)).textContent).toContain('it is cooling down')
  })

  it('names from where, to where and why', () => {
    expect(moveList([{ ...event, affinity: 'hit' }, event])).toEqual([{ id: '01J', time: event.time, from: 'gpt-east', to: 'gpt-west', reason: 'cooldown' }])
  })
  it('takes the answer of the deployment that was left where nothing stood against it', () => {
    const failed = { ...event, explanation: null }
    expect(moveList([failed])[0]).toMatchObject({ from: 'gpt-east', reason: 'rate_limited' })
  })
})

describe('a stack', () => {
  it('adds each series to those before it', () => {
    expect(stacked([{ label: 'a', color: '', values: [1, null] }, { label: 'b', color: '', values: [2, 3] }])).toEqual([[1, 0], [3, 3]])
  })
})
