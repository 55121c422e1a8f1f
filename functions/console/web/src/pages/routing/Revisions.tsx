import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'wouter'
import { pretty, timeOf, useRevision, useRevisions, useSave, type Stored } from '../../api/config'
import { Badge, Button, Card, Empty, ErrorNote, Loading } from '../../ui/basics'
import { Confirm } from '../../ui/Dialog'
import { Diff } from '../../ui/Diff'
import { useFormat } from '../../ui/format'

export function Revisions({ stored }: { stored: Stored }) {
  const { t } = useTranslation()
  const f = useFormat()
  const list = useRevisions()
  const names = list.data?.pages.flatMap((p) => p.entries ?? []).map((e) => e.revision) ?? []
  const current = stored.etag.replace(/^W\//, '').replaceAll('"', '')
  const [search, setSearch] = useSearchParams()
  const chosen = search.get('revision') ?? ''
  const setChosen = (revision: string) => setSearch({ tab: 'revisions', revision })
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
  if (revision.isPending) return <Loading lines={6} />
  if (revision.error) return <ErrorNote error={revision.error} onRetry={() => void revision.refetch()} />
  const [before, after] = [pretty(revision.data), pretty(stored.document)]
  const restore = () => {
    setAsking(false)
    save.mutate({ text: before, etag: stored.etag })
  }
  const same = before === after
  return (
    <div className="stack loose">
      <div className="bar spread">
        <p className="hint">{t('revisions.diffHint')}</p>
        <Button disabled={isCurrent || same || save.isPending} onClick={() => setAsking(true)}>{t('revisions.restore')}</Button>
      </div>
      {save.error && <ErrorNote error={save.error} />}
      {save.isSuccess && <p className="note good" role="status">{t('revisions.restored')}</p>}
      {same && <p className="hint">{t('revisions.same')}</p>}
      {!same && <Diff from={before} to={after} label={t('revisions.changes')} />}
      {asking && (
        <Confirm title={t('revisions.restoreTitle')} text={t('revisions.restoreText')} action={t('revisions.restore')} onDone={restore} onClose={() => setAsking(false)} />
      )}
    </div>
  )
}
