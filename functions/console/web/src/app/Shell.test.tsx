import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { restore } from '../pages/playground/conversation'
import { heldKey, holdKey } from '../pages/playground/key'
import { serve, show } from '../test/server'
import { Shell } from './Shell'

const kept = { id: 'a-session', own: true, settings: {}, messages: [{ role: 'user', text: 'private' }] }
const open = () => {
  sessionStorage.setItem('holdfast.conversation', JSON.stringify(kept))
  holdKey('sk-test-key-0000')
  return show(<Shell session={{ role: 'admin', gateway: '' }}><p>page</p></Shell>, '/usage')
}

describe('signing out', () => {
  it('leaves neither the key nor the conversation to the next person', async () => {
    serve({ 'DELETE /console/session': () => ({ body: { role: '', gateway: '' } }) })
    open()
    expect(restore().id).toBe('a-session')
    await userEvent.click(screen.getByRole('button', { name: 'Sign out' }))
    await waitFor(() => expect(heldKey()).toBe(''))
    expect(restore().messages).toEqual([])
  })

  it('says when it has failed, and keeps all', async () => {
    serve({ 'DELETE /console/session': () => ({ status: 503, headers: { 'X-Request-Id': 'req_5' }, body: { error: { message: 'The store is away.' } } }) })
    open()
    await userEvent.click(screen.getByRole('button', { name: 'Sign out' }))
    const alert = await screen.findByRole('alert')
    for (const text of ['The store is away.', 'req_5']) expect(alert.textContent).toContain(text)
    expect([heldKey(), restore().id]).toEqual(['sk-test-key-0000', 'a-session'])
  })
})

describe('a page that cannot be shown', () => {
  it('says so, beside the way to the others', () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const Fails = () => { throw new Error('a file of an older version is gone') }
    show(<Shell session={{ role: 'admin', gateway: '' }}><Fails /></Shell>, '/usage')
    expect(screen.getByRole('alert').textContent).toContain('Load it again')
    expect(screen.getByRole('button', { name: 'Load again' })).toBeTruthy()
    expect(screen.getByRole('link', { name: 'Sessions' })).toBeTruthy()
  })
})
