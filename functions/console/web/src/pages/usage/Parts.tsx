import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { FilterName, FilterState } from '../../api/filters'
import type { Summary, Sums } from '../../api/ledger'
import { Card, Meter, Saved, Segmented } from '../../ui/basics'
import { Pick } from '../../ui/FilterBar'
import { useFormat } from '../../ui/format'
import { Table, type Column } from '../../ui/Table'

type By = 'deployments' | 'models' | 'keys'
type Part = Sums & { name: string }

const filterOf: Record<By, FilterName> = { deployments: 'deployment', models: 'model', keys: 'key' }
const listOf = { deployments: 'by_deployment', models: 'by_model', keys: 'by_key' } as const

// Parts breaks usage down, with the cache-hit rate of each part.
export function Parts({ summary, state }: { summary: Summary; state: FilterState }) {
  const { t } = useTranslation()
  const f = useFormat()
  const [by, setBy] = useState<By>('deployments')
  const columns: Column<Part>[] = [
    { id: 'name', head: t(`parts.${by}`), width: 'minmax(140px, 1.4fr)', cell: (p) => <Pick name={filterOf[by]} value={p.name} state={state} /> },
    { id: 'rate', head: t('usage.cachedShare'), width: 'minmax(120px, 1fr)', cell: (p) => <Meter tone="good" label={t('parts.rateOf', { name: p.name })} value={p.cache_hit_rate ?? 0} max={1} text={f.share(p.cache_hit_rate)} /> },
    { id: 'requests', head: t('usage.requests'), number: true, width: '84px', cell: (p) => f.count(p.requests) },
    { id: 'failed', head: t('usage.failed'), number: true, width: '70px', cell: (p) => f.count(p.failed) },
    { id: 'input', head: t('columns.input'), unit: t('units.tok'), number: true, width: '96px', cell: (p) => f.compact(p.input_tokens) },
    { id: 'output', head: t('columns.output'), unit: t('units.tok'), number: true, width: '96px', cell: (p) => f.compact(p.output_tokens) },
    { id: 'cost', head: t('columns.cost'), number: true, width: '96px', cell: (p) => f.usd(p.total_cost) },
    { id: 'saved', head: t('columns.saved'), number: true, width: '96px', cell: (p) => <Saved usd={p.saved_cost} /> },
  ]
  return (
    <Card title={t('parts.title')} actions={
      <Segmented hideLabel label={t('parts.by')} value={by} onChange={setBy}
        options={(['deployments', 'models', 'keys'] as const).map((value) => ({ value, text: t(`parts.${value}`) }))} />
    }>
      <Table label={t('parts.title')} columns={columns} rows={summary[listOf[by]] ?? []} rowKey={(p) => p.name} height={380} empty={<p className="hint">{t('parts.none')}</p>} />
    </Card>
  )
}
