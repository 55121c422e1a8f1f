import { useTranslation } from 'react-i18next'
import { Field, Segmented, Switch } from '../../ui/basics'
import type { Caller } from './caller'
import type { Endpoint, Settings } from './dialog'

const endpoints: readonly { value: Endpoint; text: string }[] = [
  { value: 'chat', text: 'chat' },
  { value: 'responses', text: 'responses' },
  { value: 'messages', text: 'messages' },
]

export function SettingsPanel({ settings, models, onChange }: { settings: Settings; models: Caller['models']; onChange(s: Partial<Settings>): void }) {
  const { t } = useTranslation()
  const chosen = models.find((m) => m.name === settings.model)
  const offered = endpoints.filter((e) => !chosen || chosen.endpoints.includes(e.value))
  const single = models.filter((m) => !m.group)
  const groups = models.filter((m) => m.group)
  return (
    <div className="stack loose">
      <Field label={t('playground.model')}>
        {(p) => (
          <select {...p} value={settings.model} disabled={models.length === 0} onChange={(e) => onChange({ model: e.target.value })}>
            {models.length === 0 && <option value="">{t('playground.noModels')}</option>}
            {single.length > 0 && <optgroup label={t('playground.models')}>{single.map((m) => <option key={m.name}>{m.name}</option>)}</optgroup>}
            {groups.length > 0 && <optgroup label={t('playground.groups')}>{groups.map((m) => <option key={m.name}>{m.name}</option>)}</optgroup>}
          </select>
        )}
      </Field>
      <Segmented label={t('playground.endpoint')} options={offered} value={settings.endpoint} onChange={(endpoint) => onChange({ endpoint })} />
      <div className="bar">
        <Switch label={t('playground.stream')} checked={settings.stream} onChange={(stream) => onChange({ stream })} />
        <Switch label={t('playground.tools')} checked={settings.tools} onChange={(tools) => onChange({ tools })} />
      </div>
      {settings.tools && <p className="hint">{t('playground.toolsHint')}</p>}
      <Field label={t('playground.instructions')} hint={t('playground.instructionsHint')}>
        {(p) => <textarea {...p} rows={4} value={settings.instructions} onChange={(e) => onChange({ instructions: e.target.value })} />}
      </Field>
    </div>
  )
}
