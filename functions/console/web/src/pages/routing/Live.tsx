import { useTranslation } from 'react-i18next'
import type { Document } from '../../api/config'
import { useAct, useDeployments, type LiveDeployment } from '../../api/deployments'
import { Badge, Button, Card, Empty, ErrorNote, Meter } from '../../ui/basics'
import { useFormat } from '../../ui/format'
import { useMore } from '../../ui/More'
import { Table, type Column } from '../../ui/Table'

const restSeconds = 60 // of a cooldown by hand

export function Live({ document }: { document: Document }) {
  const { t } = useTranslation()
  const f = useFormat()
  const live = useDeployments()
  const act = useAct()
  const rows = live.data ?? []
  const columns: Column<LiveDeployment>[] = [
    { id: 'id', head: t('columns.deployment'), width: 'minmax(150px, 1.4fr)', cell: (d) => <span className="stack"><strong>{d.deployment}</strong><span className="hint">{d.model} · {d.protocol}</span></span> },
    { id: 'connection', head: t('columns.connection'), width: 'minmax(90px, 0.8fr)', cell: (d) => d.connection },
    { id: 'state', head: t('columns.state'), width: 'minmax(130px, 1fr)', cell: (d) => <State deployment={d} /> },
    { id: 'share', head: t('columns.traffic'), width: 'minmax(90px, 0.9fr)', cell: (d) => <Meter tone="plain" label={t('live.shareOf', { id: d.deployment })} value={d.traffic_share ?? 0} max={1} text={f.share(d.traffic_share)} /> },
    { id: 'cached', head: t('usage.cachedShare'), width: 'minmax(90px, 0.9fr)', cell: (d) => <Meter tone="good" label={t('parts.rateOf', { name: d.deployment })} value={d.cache_hit_share ?? 0} max={1} text={f.share(d.cache_hit_share)} /> },
    {
      id: 'act', head: t('columns.actions'), width: '196px',
      cell: (d) => (
        <span className="bar tight">
          <Button small disabled={act.isPending} onClick={() => act.mutate({ id: d.deployment, kind: d.drained ? 'undrain' : 'drain' })} aria-label={t(d.drained ? 'live.undrainOf' : 'live.drainOf', { id: d.deployment })}>{t(d.drained ? 'live.undrain' : 'live.drain')}</Button>
          <Button small disabled={act.isPending} onClick={() => act.mutate({ id: d.deployment, kind: cooling(d) ? 'wake' : 'cool', seconds: restSeconds })} aria-label={t(cooling(d) ? 'live.wakeOf' : 'live.coolOf', { id: d.deployment })}>{t(cooling(d) ? 'live.wake' : 'live.cool')}</Button>
        </span>
      ),
    },
  ]
  return (
    <>
      <Card title={t('live.deployments')}>
        {act.error && <ErrorNote error={act.error} />}
        <Table label={t('live.deployments')} columns={columns} rows={rows} rowKey={(d) => d.deployment} height={560} loading={live.isPending} error={live.error} onRetry={() => void live.refetch()}
          empty={<Empty title={t('live.none')}>{t('live.noneHint')}</Empty>} />
      </Card>
      <div className="columns">
        <Groups document={document} />
        <Templates document={document} />
      </div>
      <Connections document={document} />
    </>
  )
}

export function cooling(d: LiveDeployment, now = Date.now()): boolean {
  return !!d.cooling_until && new Date(d.cooling_until).getTime() > now
}

function State({ deployment: d }: { deployment: LiveDeployment }) {
  const { t } = useTranslation()
  const f = useFormat()
  if (!d.enabled) return <Badge>{t('live.disabled')}</Badge>
  return (
    <span className="bar tight">
      {cooling(d) && <Badge tone="warn" title={d.cooling_reason}>{t('live.cooling', { time: f.clock(d.cooling_until!) })}</Badge>}
      {d.drained && <Badge tone="info">{t('live.drained')}</Badge>}
      {!cooling(d) && !d.drained && <Badge tone="good">{t('live.serving')}</Badge>}
    </span>
  )
}

function Groups({ document }: { document: Document }) {
  const { t } = useTranslation()
  const groups = document.groups ?? []
  const { some, more } = useMore(groups)
  return (
    <Card title={t('live.groups')}>
      {groups.length === 0 && <p className="hint">{t('live.noGroups')}</p>}
      <ul className="entries">
        {some.map((g) => (
          <li key={g.name}>
            <strong>{g.name}</strong> <Badge>{g.strategy ?? 'weighted'}</Badge> {g.session_affinity === false && <Badge tone="warn">{t('live.noAffinity')}</Badge>}{g.session_affinity === 'strict' && <Badge tone="info">strict</Badge>}
            <p className="hint">{g.members.join(', ')}{(g.fallbacks?.length ?? 0) > 0 && ` → ${g.fallbacks!.join(', ')}`}</p>
          </li>
        ))}
      </ul>
      {more}
    </Card>
  )
}

function Templates({ document }: { document: Document }) {
  const { t } = useTranslation()
  const templates = document.templates ?? []
  const { some, more } = useMore(templates)
  return (
    <Card title={t('live.templates')}>
      {templates.length === 0 && <p className="hint">{t('live.noTemplates')}</p>}
      <ul className="entries">
        {some.map((x) => (
          <li key={x.id}>
            <strong>{x.id}</strong> <Badge>{x.strategy ?? 'weighted'}</Badge> {document.platform?.template === x.id && <Badge tone="good">{t('live.platform')}</Badge>}
            <p className="hint">{t('live.templateSays', { attempts: x.retry_policy?.max_attempts ?? 2, fails: x.allowed_fails ?? 3, cooldown: x.cooldown ?? '60s' })}</p>
          </li>
        ))}
      </ul>
      {more}
    </Card>
  )
}

function Connections({ document }: { document: Document }) {
  const { t } = useTranslation()
  const { some, more } = useMore(document.connections)
  return (
    <Card title={t('live.connections')}>
      <div className="plain-scroll" tabIndex={0}>
        <table className="plain-table">
          <thead><tr><th>{t('columns.connection')}</th><th>{t('columns.provider')}</th><th>{t('live.baseUrl')}</th><th>{t('live.boundary')}</th></tr></thead>
          <tbody>
            {some.map((c) => (
              <tr key={c.id}><td>{c.id}</td><td>{c.provider}</td><td><code>{c.base_url ?? t('live.preset')}</code></td><td>{c.boundary ?? c.id}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
      {more}
    </Card>
  )
}
