import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isInferred, type Event } from '../../api/events'
import type { FilterState } from '../../api/filters'
import type { Pages } from '../../api/ledger'
import { Affinity, Badge, Empty, Status } from '../../ui/basics'
import { Pick } from '../../ui/FilterBar'
import { useFormat } from '../../ui/format'
import { Table, type Column } from '../../ui/Table'
import { ExchangeDetail } from './ExchangeDetail'
import { short } from './short'

export function ExchangeTable({ pages, state, label, height, withSession }: { pages: Pages<Event>; state: FilterState; label: string; height: number; withSession?: boolean }) {
  const { t } = useTranslation()
  const f = useFormat()
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const toggle = (id: string) => setOpen((now) => {
    const next = new Set(now)
    if (!next.delete(id)) next.add(id)
    return next
  })
  const columns: Column<Event>[] = [
    {
      id: 'time', head: t('columns.time'), width: 'minmax(76px, 0.8fr)',
      cell: (e) => <span className="stack"><time dateTime={e.time} title={f.time(e.time)}>{f.clock(e.time)}</time><span className="hint">{f.day(e.time)}</span></span>,
    },
    ...(withSession ? [{
      id: 'session', head: t('columns.session'), width: 'minmax(120px, 1fr)',
      cell: (e: Event) => e.session_id ? <Pick name="session_id" value={e.session_id} state={state}>{short(e.session_id)}</Pick> : <span className="hint">–</span>,
    }] : []),
    {
      id: 'asked', head: t('columns.asked'), width: 'minmax(116px, 1.1fr)',
      cell: (e) => <span className="stack"><span>{e.model || '–'}</span><span className="hint">{e.endpoint}{e.stream ? ` · ${t('sessions.streamed')}` : ''}</span></span>,
    },
    {
      id: 'served', head: t('columns.served'), width: 'minmax(116px, 1.2fr)',
      cell: (e) => <span className="stack"><span>{e.deployment || <code className="hint">{e.error_code || '–'}</code>}</span><span className="bar tight"><Affinity outcome={e.affinity} />{isInferred(e.session_source) && <Badge tone="info" title={t('sources.prompt')}>{t('sources.inferred')}</Badge>}</span></span>,
    },
    { id: 'status', head: t('columns.status'), width: '88px', cell: (e) => <span className="bar tight"><Status status={e.status} />{(e.attempts?.length ?? 0) > 1 && <Badge tone="warn" title={t('columns.attempts')}>×{e.attempts?.length}</Badge>}</span> },
    { id: 'cached', head: t('columns.cached'), number: true, width: '68px', cell: (e) => f.count(e.usage?.cache_read) },
    { id: 'fresh', head: t('columns.fresh'), number: true, width: '68px', cell: (e) => f.count(e.usage && e.usage.input + e.usage.cache_write_5m + e.usage.cache_write_1h) },
    { id: 'first', head: t('columns.firstByte'), number: true, width: '72px', cell: (e) => f.ms(e.ttfb_ms === 0 && e.status >= 400 ? null : e.ttfb_ms) },
    { id: 'cost', head: t('columns.cost'), number: true, width: '76px', cell: (e) => f.usd(e.cost?.total) },
  ]
  return (
    <Table label={label} columns={columns} rows={pages.rows} rowKey={(e) => e.id} height={height} name={(e) => f.time(e.time)}
      open={open} onToggle={toggle} detail={(e) => <ExchangeDetail event={e} />}
      loading={pages.loading} error={pages.error} onRetry={pages.retry} more={pages.more}
      empty={<Empty title={t('sessions.noExchanges')}>{t('sessions.noExchangesHint')}</Empty>} />
  )
}
