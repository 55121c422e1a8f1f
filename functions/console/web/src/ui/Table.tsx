import { useVirtualizer } from '@tanstack/react-virtual'
import { Fragment, useEffect, useRef, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Button, ErrorNote, Loading } from './basics'

export interface Column<T> {
  id: string
  head: string
  unit?: string
  cell(row: T): ReactNode
  number?: boolean // right-aligned, tabular figures
  width?: string // a grid track; default minmax(0, 1fr)
}

interface Props<T> {
  label: string
  columns: Column<T>[]
  rows: T[]
  total?: number // rows there are, where more can be loaded
  rowKey(row: T): string
  height?: number // of the scrolling part, in pixels
  detail?(row: T): ReactNode
  open?: ReadonlySet<string>
  onToggle?(key: string): void
  name?(row: T): string // of the row, for its toggle
  more?: { has: boolean; busy: boolean; load(): void }
  loading?: boolean
  error?: unknown
  onRetry?(): void
  empty: ReactNode
}

// Table keeps only the rows in sight in the page, however many there are. On
// narrow screens each row is a card with its columns' names.
export function Table<T>(p: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: p.rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 44,
    overscan: 8,
    scrollPaddingStart: 36, // below the head
    getItemKey: (i) => p.rowKey(p.rows[i]!),
    initialRect: { width: 800, height: p.height ?? 560 },
  })
  const items = virtual.getVirtualItems()
  const last = items.at(-1)?.index ?? 0
  const { more } = p
  useEffect(() => {
    if (more?.has && !more.busy && last >= p.rows.length - 10) more.load()
  }, [last, more, p.rows.length])
  if (p.error && p.rows.length === 0) return <ErrorNote error={p.error} onRetry={p.onRetry} />
  if (p.loading) return <Loading lines={6} />
  if (p.rows.length === 0) return <>{p.empty}</>
  const tracks = [p.detail ? '36px' : '', ...p.columns.map((c) => c.width ?? 'minmax(0, 1fr)')].filter(Boolean).join(' ')
  return (
    <div className="table">
      <div className="table-scroll" role="table" aria-label={p.label} aria-rowcount={(p.total ?? p.rows.length) + 1} ref={scroller} style={{ maxHeight: p.height ?? 560 }} tabIndex={0}>
        <div role="rowgroup" className="table-head">
          <div role="row" className="row" style={{ gridTemplateColumns: tracks }}>
            {p.detail && <span role="columnheader"><Hidden name="ui.details" /></span>}
            {p.columns.map((c) => (
              <span key={c.id} role="columnheader" className={c.number ? 'number' : ''}>{c.head}{c.unit && <span className="unit"> {c.unit}</span>}</span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="table-body" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = p.rows[item.index]!
            const key = p.rowKey(row)
            const open = p.open?.has(key) ?? false
            return (
              <div key={item.key} data-index={item.index} ref={virtual.measureElement} className="slot" style={{ transform: `translateY(${item.start}px)` }}>
                <div role="row" aria-rowindex={item.index + 2} className={`row${open ? ' open' : ''}`} style={{ gridTemplateColumns: tracks }}>
                  {p.detail && (
                    <span role="cell" className="cell toggle">
                      <Toggle open={open} name={p.name?.(row) ?? key} onToggle={() => {
                        p.onToggle?.(key)
                        if (!open) requestAnimationFrame(() => virtual.scrollToIndex(item.index, { align: 'start' }))
                      }} />
                    </span>
                  )}
                  {p.columns.map((c) => (
                    <span key={c.id} role="cell" className={`cell${c.number ? ' number' : ''}`}>
                      <span className="cell-name" aria-hidden="true">{c.head}</span>
                      <span className="cell-value">{c.cell(row)}{c.unit && c.number && <span className="unit cell-unit"> {c.unit}</span>}</span>
                    </span>
                  ))}
                </div>
                {open && p.detail && <div role="row" className="detail"><div role="cell">{p.detail(row)}</div></div>}
              </div>
            )
          })}
        </div>
      </div>
      <Foot {...p} />
    </div>
  )
}

function Foot<T>(p: Props<T>) {
  const { t } = useTranslation()
  if (p.error) return <ErrorNote error={p.error} onRetry={p.onRetry} />
  if (!p.more?.has && p.total === undefined) return <Fragment />
  return (
    <div className="table-foot">
      <span className="hint">{t('ui.shown', { shown: p.rows.length, total: p.total ?? `${p.rows.length}+` })}</span>
      {p.more?.has && <Button small disabled={p.more.busy} onClick={p.more.load}>{p.more.busy ? t('ui.loading') : t('ui.more')}</Button>}
    </div>
  )
}

function Hidden({ name }: { name: string }) {
  const { t } = useTranslation()
  return <span className="hidden">{t(name)}</span>
}

function Toggle({ open, name, onToggle }: { open: boolean; name: string; onToggle(): void }) {
  const { t } = useTranslation()
  return (
    <button type="button" className="twist" aria-expanded={open} aria-label={t('ui.detailsOf', { name })} onClick={onToggle}>
      <span aria-hidden="true">{open ? '▾' : '▸'}</span>
    </button>
  )
}
