import { useTranslation } from 'react-i18next'
import type { Problem } from '../../api/client'
import type { Deployment, Document, Group, Stickiness, Template } from '../../api/config'
import { Field, Switch } from '../../ui/basics'
import { useMore } from '../../ui/More'

interface Part {
  document: Document
  problems: Problem[]
  onChange(d: Document): void
}

const strategies = ['weighted', 'cost', 'latency', 'usage', 'round_robin']

// at is the problem that the server has found at a path, or below it.
export function at(problems: Problem[], path: string): string | undefined {
  return problems.find((p) => p.path === path || p.path.startsWith(path + '.') || p.path.startsWith(path + '['))?.message
}

// replaced is a list with one entry changed. A field set to undefined goes.
function replaced<T extends object>(list: T[], i: number, change: Partial<T>): T[] {
  return list.map((x, k) => (k === i ? Object.fromEntries(Object.entries({ ...x, ...change }).filter(([, v]) => v !== undefined)) as T : x))
}

function numberOf(text: string): number | undefined {
  return text === '' || Number.isNaN(Number(text)) ? undefined : Number(text)
}

const listOf = (text: string) => text.split(',').map((x) => x.trim()).filter(Boolean)

export function DocumentForm(p: Part) {
  return (
    <div className="form">
      <Switches {...p} />
      <Deployments {...p} />
      <Groups {...p} />
      <Templates {...p} />
    </div>
  )
}

function Switches({ document: d, problems, onChange }: Part) {
  const { t } = useTranslation()
  const session = d.session ?? {}
  const affinity = d.affinity ?? {}
  return (
    <fieldset className="form-part">
      <legend>{t('form.sessions')}</legend>
      <div className="bar">
        <Switch label={t('form.identify')} checked={session.enabled ?? true} onChange={(enabled) => onChange({ ...d, session: { ...session, enabled } })} />
        <Switch label={t('form.autoDetect')} checked={session.auto_detect ?? true} onChange={(auto_detect) => onChange({ ...d, session: { ...session, auto_detect } })} />
        <Switch label={t('form.affinity')} checked={affinity.enabled ?? true} onChange={(enabled) => onChange({ ...d, affinity: { ...affinity, enabled } })} />
      </div>
      <div className="fields">
        <Field label={t('form.ttl')} hint={t('form.duration')} error={at(problems, 'affinity.ttl')}>
          {(f) => <input {...f} value={affinity.ttl ?? ''} onChange={(e) => onChange({ ...d, affinity: { ...affinity, ttl: e.target.value } })} />}
        </Field>
        <Field label={t('form.maxWait')} hint={t('form.duration')} error={at(problems, 'affinity.max_wait')}>
          {(f) => <input {...f} value={affinity.max_wait ?? ''} onChange={(e) => onChange({ ...d, affinity: { ...affinity, max_wait: e.target.value } })} />}
        </Field>
      </div>
    </fieldset>
  )
}

function Deployments({ document: d, problems, onChange }: Part) {
  const { t } = useTranslation()
  const { some, more } = useMore(d.deployments)
  const set = (i: number, change: Partial<Deployment>) => onChange({ ...d, deployments: replaced(d.deployments, i, change) })
  return (
    <fieldset className="form-part form-lines">
      <legend>{t('live.deployments')}</legend>
      {some.map((x, i) => {
        const path = `deployments[${i}]`
        const price = x.price
        return (
          <div key={i} className="form-row" role="group" aria-label={x.id}>
            <div className="form-row-head">
              <Switch label={x.id} checked={x.enabled ?? true} onChange={(on) => set(i, { enabled: on ? undefined : false })} />
              <span className="hint">{x.model} · {x.connection} · {x.protocol}</span>
              {at(problems, path) && <span className="field-error">{at(problems, path)}</span>}
            </div>
            <div className="fields narrow">
              <Field label={t('form.weight')} error={at(problems, `${path}.weight`)}>
                {(f) => <input {...f} type="number" min={0} step="any" value={x.weight ?? 1} onChange={(e) => set(i, { weight: numberOf(e.target.value) })} />}
              </Field>
              {(['input', 'cached_input', 'cache_write', 'output'] as const).map((name) => (
                <Field key={name} label={t(`form.price.${name}`)} error={at(problems, `${path}.price.${name}`)}>
                  {(f) => <input {...f} type="number" min={0} step="any" value={price?.[name] ?? ''} placeholder="–"
                    onChange={(e) => set(i, { price: { ...(price ?? { input: 0, output: 0 }), [name]: numberOf(e.target.value) ?? (name === 'input' || name === 'output' ? 0 : undefined) } })} />}
                </Field>
              ))}
            </div>
          </div>
        )
      })}
      {more}
      <p className="hint">{t('form.priceUnit')}</p>
    </fieldset>
  )
}

function Sticky({ value, onChange, id }: { value: Stickiness | undefined; onChange(v: Stickiness | undefined): void; id: string }) {
  const { t } = useTranslation()
  return (
    <select id={id} value={value === undefined ? '' : String(value)} onChange={(e) => onChange(e.target.value === '' ? undefined : e.target.value === 'strict' ? 'strict' : e.target.value === 'true')}>
      <option value="">{t('form.inherit')}</option>
      <option value="true">{t('form.on')}</option>
      <option value="false">{t('form.off')}</option>
      <option value="strict">strict</option>
    </select>
  )
}

function Groups({ document: d, problems, onChange }: Part) {
  const { t } = useTranslation()
  const groups = d.groups ?? []
  const { some, more } = useMore(groups)
  const set = (i: number, change: Partial<Group>) => onChange({ ...d, groups: replaced(groups, i, change) })
  if (groups.length === 0) return null
  return (
    <fieldset className="form-part">
      <legend>{t('live.groups')}</legend>
      {some.map((g, i) => {
        const path = `groups[${i}]`
        return (
          <div key={i} className="form-row" role="group" aria-label={g.name}>
            <div className="form-row-head"><strong>{g.name}</strong></div>
            <div className="fields">
              <Field label={t('form.members')} hint={t('form.commas')} error={at(problems, `${path}.members`)}>
                {(f) => <input {...f} value={g.members.join(', ')} onChange={(e) => set(i, { members: listOf(e.target.value) })} />}
              </Field>
              <Field label={t('form.strategy')} error={at(problems, `${path}.strategy`)}>
                {(f) => <select {...f} value={g.strategy ?? 'weighted'} onChange={(e) => set(i, { strategy: e.target.value })}>{strategies.map((s) => <option key={s}>{s}</option>)}</select>}
              </Field>
              <Field label={t('form.affinity')} error={at(problems, `${path}.session_affinity`)}>
                {(f) => <Sticky id={f.id} value={g.session_affinity} onChange={(session_affinity) => set(i, { session_affinity })} />}
              </Field>
              <Field label={t('form.fallbacks')} hint={t('form.commas')} error={at(problems, `${path}.fallbacks`)}>
                {(f) => <input {...f} value={(g.fallbacks ?? []).join(', ')} onChange={(e) => set(i, { fallbacks: listOf(e.target.value) })} />}
              </Field>
            </div>
          </div>
        )
      })}
      {more}
    </fieldset>
  )
}

function Templates({ document: d, problems, onChange }: Part) {
  const { t } = useTranslation()
  const templates = d.templates ?? []
  const { some, more } = useMore(templates)
  const set = (i: number, change: Partial<Template>) => onChange({ ...d, templates: replaced(templates, i, change) })
  if (templates.length === 0) return null
  return (
    <fieldset className="form-part">
      <legend>{t('live.templates')}</legend>
      {some.map((x, i) => {
        const path = `templates[${i}]`
        return (
          <div key={i} className="form-row" role="group" aria-label={x.id}>
            <div className="form-row-head"><strong>{x.id}</strong><Switch label={t('form.noFallbacks')} checked={x.disable_fallbacks ?? false} onChange={(on) => set(i, { disable_fallbacks: on || undefined })} /></div>
            <div className="fields">
              <Field label={t('form.strategy')} error={at(problems, `${path}.strategy`)}>
                {(f) => <select {...f} value={x.strategy ?? 'weighted'} onChange={(e) => set(i, { strategy: e.target.value })}>{strategies.map((s) => <option key={s}>{s}</option>)}</select>}
              </Field>
              <Field label={t('form.attempts')} error={at(problems, `${path}.retry_policy`)}>
                {(f) => <input {...f} type="number" min={1} value={x.retry_policy?.max_attempts ?? 2} onChange={(e) => set(i, { retry_policy: { max_attempts: numberOf(e.target.value) ?? 2 } })} />}
              </Field>
              <Field label={t('form.fails')} error={at(problems, `${path}.allowed_fails`)}>
                {(f) => <input {...f} type="number" min={0} value={x.allowed_fails ?? 3} onChange={(e) => set(i, { allowed_fails: numberOf(e.target.value) })} />}
              </Field>
              <Field label={t('form.cooldown')} hint={t('form.duration')} error={at(problems, `${path}.cooldown`)}>
                {(f) => <input {...f} value={x.cooldown ?? '60s'} onChange={(e) => set(i, { cooldown: e.target.value })} />}
              </Field>
              <Field label={t('form.affinity')} error={at(problems, `${path}.session_affinity`)}>
                {(f) => <Sticky id={f.id} value={x.session_affinity} onChange={(session_affinity) => set(i, { session_affinity })} />}
              </Field>
            </div>
          </div>
        )
      })}
      {more}
    </fieldset>
  )
}
