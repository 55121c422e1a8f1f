import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { filterNames, spans, type FilterName, type FilterState } from '../api/filters'
import { Button, Segmented } from './basics'

// FilterBar shows what the page is narrowed to, as chips that can be taken
// away, and adds to it.
export function FilterBar({ state }: { state: FilterState }) {
  const { t } = useTranslation()
  const { filters } = state
  const [name, setName] = useState<FilterName>('model')
  const [value, setValue] = useState('')
  const add = (e: FormEvent) => {
    e.preventDefault()
    if (value.trim() === '') return
    state.set(name, value.trim())
    setValue('')
  }
  const chips = [...filterNames, 'raw_session_id' as const].filter((n) => filters[n] && !(n === 'key' && filters.raw_session_id))
  return (
    <div className="filter-bar">
      <Segmented hideLabel label={t('filters.span')} value={filters.days} onChange={state.span}
        options={spans.map((s) => ({ value: s, text: t('filters.days', { count: Number(s) }) }))} />
      <form className="bar add-filter" onSubmit={add}>
        <select aria-label={t('filters.field')} value={name} onChange={(e) => setName(e.target.value as FilterName)}>
          {filterNames.map((n) => <option key={n} value={n}>{t(`filters.names.${n}`)}</option>)}
        </select>
        <input aria-label={t('filters.value')} value={value} onChange={(e) => setValue(e.target.value)} placeholder={t('filters.value')} />
        <Button type="submit" disabled={value.trim() === ''}>{t('filters.add')}</Button>
      </form>
      {chips.length > 0 && (
        <ul className="chips" aria-label={t('filters.active')}>
          {chips.map((n) => (
            <li key={n} className="chip">
              <span><span className="chip-name">{t(`filters.names.${n}`)}</span> <code>{filters[n]}</code></span>
              <button type="button" onClick={() => state.drop(n)} aria-label={t('filters.drop', { name: t(`filters.names.${n}`) })}>✕</button>
            </li>
          ))}
          <li><Button small kind="quiet" onClick={state.reset}>{t('filters.reset')}</Button></li>
        </ul>
      )}
    </div>
  )
}

// Pick is a value that narrows the page to itself.
export function Pick({ name, value, state, children }: { name: FilterName; value: string; state: FilterState; children?: string }) {
  const { t } = useTranslation()
  if (!value) return <span className="hint">–</span>
  return (
    <button type="button" className="pick" title={t('filters.only', { value })} onClick={() => state.set(name, value)}>{children ?? value}</button>
  )
}
