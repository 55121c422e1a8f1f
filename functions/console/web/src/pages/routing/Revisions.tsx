import { diffLines } from 'diff'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { pretty, timeOf, useRevision, useRevisions, useSave, type Stored } from '../../api/config'
import { Badge, Button, Card, Empty, ErrorNote, Loading } from '../../ui/basics'
import { Confirm } from '../../ui/Dialog'
import { useFormat } from '../../ui/format'

export function Revisions({ stored }: { stored: Stored }) {
  const { t } = useTranslation()
  const f = useFormat()
  const list = useRevisions()
  const names = list.data?.pages.flatMap((p) => p.entries ?? []).map((e) => e.revision) ?? []
  const current = stored.etag.replace(/^W\//, '').replaceAll('"', '')
  const [chosen, setChosen] = useState('')
  return (
    <div className="revisions">
      <Card title={t('revisions.title')}>
        {list.isPending && <Loading />}
        {list.error && <ErrorNote error={list.error} onRetry={() => void list.refetch()} />}
        {list.data && names.length === 0 && <Empty title={t('revisions.none')}>{t('revisions.noneHint')}</Empty>}
        <ul className="revision-list">
          {names.map((name) => (
            <li key={name}>
              <button type="button" className={name === chosen ? 'on' : ''} aria-pressed={name === chosen} onClick={() => setChosen(name)}>
                <span>{timeOf(name) ? f.time(timeOf(name)) : name}</span> {name === current && <Badge tone="good">{t('revisions.current')}</Badge>}
                <code className="hint">{name}</code>
              </button>
            </li>
          ))}
        </ul>
        {list.hasNextPage && <Button small onClick={() => void list.fetchNextPage()}>{t('ui.more')}</Button>}
      </Card>
      <Card title={t('revisions.changes')}>
        {chosen === '' ? <p className="hint">{t('revisions.choose')}</p> : <Comparison key={chosen} name={chosen} stored={stored} isCurrent={chosen === current} />}
      </Card>
    </div>
  )
}

function Comparison({ name, stored, isCurrent }: { name: string; stored: Stored; isCurrent: boolean }) {
  const { t } = useTranslation()
  const [asking, setAsking] = useState(false)
  const revision = useRevision(name)
  const save = useSave()
  const changes = useMemo(() => (revision.data ? diffLines(pretty(revision.data), pretty(stored.document)) : []), [revision.data, stored.document])
  if (revision.isPending) return <Loading lines={6} />
  if (revision.error) return <ErrorNote error={revision.error} onRetry={() => void revision.refetch()} />
  const restore = () => {
    setAsking(false)
    save.mutate({ text: pretty(revision.data), etag: stored.etag })
  }
  const same = changes.every((c) => !c.added && !c.removed)
  return (
    <div className="stack loose">
      <div className="bar spread">
        <p className="hint">{t('revisions.diffHint')}</p>
        <Button disabled={isCurrent || same || save.isPending} onClick={() => setAsking(true)}>{t('revisions.restore')}</Button>
      </div>
      {save.error && <ErrorNote error={save.error} />}
      {save.isSuccess && <p className="note good" role="status">{t('revisions.restored')}</p>}
      {same && <p className="hint">{t('revisions.same')}</p>}
      <pre className="diff" tabIndex={0} aria-label={t('revisions.changes')}>
        {changes.map((c, i) => c.added || c.removed
          ? <span key={i} className={c.added ? 'added' : 'removed'}>{marked(c.value, c.added ? '+ ' : '− ')}</span>
          : <span key={i}>{folded(c.value, i === 0, i === changes.length - 1)}</span>)}
      </pre>
      {asking && (
        <Confirm title={t('revisions.restoreTitle')} text={t('revisions.restoreText')} action={t('revisions.restore')} onDone={restore} onClose={() => setAsking(false)} />
      )}
    </div>
  )
}

const context = 3 // lines that are shown round a change

function marked(text: string, sign: string): string {
  return text.replace(/\n$/, '').split('\n').map((l) => sign + l).join('\n') + '\n'
}

// folded leaves out what is far from any change.
export function folded(text: string, first: boolean, last: boolean): string {
  const lines = text.replace(/\n$/, '').split('\n').map((l) => '  ' + l)
  const head = first ? 0 : context
  const tail = last ? 0 : context
  if (lines.length <= head + tail + 1) return lines.join('\n') + '\n'
  return [...lines.slice(0, head), `  ⋯ ${lines.length - head - tail}`, ...lines.slice(lines.length - tail)].join('\n') + '\n'
}
