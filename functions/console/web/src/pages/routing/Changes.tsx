import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Link } from 'wouter'
import { changesPath, useChanges, type Change } from '../../api/changes'
import { query } from '../../api/client'
import { timeOf } from '../../api/config'
import { Badge, Card, Empty, type Tone } from '../../ui/basics'
import { Diff } from '../../ui/Diff'
import { useFormat } from '../../ui/format'
import { Table, type Column } from '../../ui/Table'

const tones: Record<Change['outcome'], Tone> = { done: 'good', failed: 'bad', begun: 'warn', unknown: 'warn' }

// Changes is the audit trail: who has changed what, when, from what to what.
export function Changes() {
  const { t } = useTranslation()
  const f = useFormat()
  const changes = useChanges()
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const toggle = (id: string) => setOpen((now) => {
    const next = new Set(now)
    if (!next.delete(id)) next.add(id)
    return next
  })
  const action = (c: Change) => t(`changes.actions.${c.action.replace('.', '_')}`, { defaultValue: c.action })
  const columns: Column<Change>[] = [
    { id: 'what', head: t('changes.what'), width: 'minmax(150px, 1.2fr)', cell: (c) => <strong>{action(c)}</strong> },
    { id: 'target', head: t('changes.target'), width: 'minmax(140px, 1.6fr)', cell: (c) => <code className="clip" title={c.target}>{c.target}</code> },
    { id: 'who', head: t('changes.who'), width: 'minmax(70px, 0.5fr)', cell: (c) => c.who },
    { id: 'outcome', head: t('changes.outcome'), width: '96px', cell: (c) => <Badge tone={tones[c.outcome]} title={t(`changes.says.${c.outcome}`)}>{t(`changes.outcomes.${c.outcome}`)}</Badge> },
    { id: 'time', head: t('columns.time'), number: true, width: 'minmax(196px, 0.9fr)', cell: (c) => <time className="once" dateTime={c.time} title={f.ago(c.time)}>{f.time(c.time)}</time> },
  ]
  return (
    <Card title={t('changes.title')} actions={<a className="button small" download href={changesPath + query({ limit: 200, format: 'csv' })}>{t('changes.csv')}</a>}>
      <p className="hint">{t('changes.hint')}</p>
      <Table label={t('changes.title')} columns={columns} rows={changes.data?.pages.flatMap((p) => p.entries ?? []) ?? []} rowKey={(c) => c.id} height={640}
        name={(c) => `${action(c)} ${c.target}`} open={open} onToggle={toggle} detail={(c) => <Detail change={c} />}
        loading={changes.isPending} error={changes.error} onRetry={() => void (changes.data ? changes.fetchNextPage() : changes.refetch())}
        more={{ has: changes.hasNextPage && !changes.error, busy: changes.isFetchingNextPage, load: () => void changes.fetchNextPage() }}
        empty={<Empty title={t('changes.none')}>{t('changes.noneHint')}</Empty>} />
    </Card>
  )
}

function Detail({ change: c }: { change: Change }) {
  const { t } = useTranslation()
  const revision = (c.before as { revision?: unknown } | null)?.revision
  return (
    <div className="stack loose">
      {c.outcome !== 'done' && <p>{t(`changes.says.${c.outcome}`)}</p>}
      {c.action === 'config.replace' && typeof revision === 'string' && timeOf(revision) !== '' && (
        <p><Link href={'/routing' + query({ tab: 'revisions', revision })}>{t('changes.compare')}</Link></p>
      )}
      <Diff from={text(c.before)} to={text(c.after)} label={t('changes.stateOf', { target: c.target })} />
    </div>
  )
}

function text(state: unknown): string {
  return state === null || state === undefined ? '' : JSON.stringify(state, null, 2) + '\n'
}
