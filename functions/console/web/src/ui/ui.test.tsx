import { fireEvent, render, screen } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'
import { ApiError, failure } from '../api/client'
import { Copy, ErrorNote } from './basics'
import { formats, unknown } from './format'
import { Table } from './Table'

describe('a table', () => {
  it('keeps only the rows in sight in the page, and says how many there are', () => {
    const rows = Array.from({ length: 10_000 }, (_, i) => ({ id: `r${i}` }))
    render(<Table label="Rows" rows={rows} total={10_000} rowKey={(r) => r.id} columns={[{ id: 'id', head: 'Id', cell: (r) => r.id }]} empty={null} />)
    const table = screen.getByRole('table', { name: 'Rows' })
    expect(table.getAttribute('aria-rowcount')).toBe('10001')
    const shown = screen.getAllByRole('row').length
    expect(shown).toBeGreaterThan(1)
    expect(shown).toBeLessThan(60)
  })
})

describe('numbers', () => {
  const f = formats('en')
  it('are dashes where they are not known', () => {
    expect([f.usd(null), f.count(undefined), f.share(NaN), f.ms(null)]).toEqual([unknown, unknown, unknown, unknown])
  })
  it('show as many digits as money needs', () => {
    expect([0, 1234.5, 1, 0.5, 0.00213, 0.000042, -2].map((n) => f.usd(n))).toEqual(['$0.00', '$1,234.50', '$1.00', '$0.5000', '$0.0021', '$0.000042', '−$2.00'])
  })
  it('have units', () => {
    expect([f.ms(84), f.ms(2149), f.share(0.876)]).toEqual(['84 ms', '2.1 s', '87.6%'])
    expect(formats('zh').compact(213_200)).toBe('21.3万')
  })
  it('tell how long ago', () => {
    const now = Date.UTC(2026, 0, 2, 12)
    expect(f.ago('2026-01-02T11:57:00Z', now)).toBe('3 min. ago')
    expect(f.ago('2026-01-01T11:00:00Z', now)).toBe('yesterday')
  })
})

describe('copying', () => {
  it('also works over plain HTTP, where there is no clipboard to write to', async () => {
    const real = navigator
    vi.stubGlobal('navigator', { clipboard: undefined })
    let copied = ''
    document.execCommand = () => { copied = (document.activeElement as HTMLTextAreaElement).value; return true }
    render(<Copy text="sk-hf-secret" />)
    screen.getByRole('button', { name: 'Copy' }).focus()
    fireEvent.click(document.activeElement!)
    expect(await screen.findByText('Copied')).toBe(document.activeElement)
    expect(copied).toBe('sk-hf-secret')
    expect(document.querySelector('textarea')).toBeNull()
    vi.stubGlobal('navigator', real)
  })
})

describe('a failed call', () => {
  const response = (headers: Record<string, string>) => ({ status: 503, headers: new Headers(headers) })
  it('keeps code, message and request id of either error form', () => {
    const e = failure(response({ 'X-Holdfast-Error': 'no_eligible_deployment', 'X-Holdfast-Request-Id': 'req_1', 'X-Request-Id': 'provider' }), '{"error":{"message":"None."}}')
    expect([e.status, e.code, e.message, e.requestId]).toEqual([503, 'no_eligible_deployment', 'None.', 'req_1'])
    expect(failure(response({}), '<html>').message).toBe('')
  })
  it('is told in the page\'s own words where the server has none', () => {
    render(<ErrorNote error={new ApiError(0, 'unreachable', '')} />)
    expect(screen.getByRole('alert').textContent).toContain('cannot be reached')
  })
})
