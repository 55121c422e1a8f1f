import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { call } from '../../api/client'
import type { Document } from '../../api/config'
import { isInferred, type Explanation } from '../../api/events'
import { Affinity, Badge, Button, Card, ErrorNote, Field } from '../../ui/basics'
import { Why } from '../sessions/Why'

interface Question {
  endpoint: string
  key: string
  headers: Record<string, string>
  body: unknown
}

// Explain plans a pasted request without sending it.
export function Explain({ document }: { document: Document }) {
  const { t } = useTranslation()
  const keys = (document.keys ?? []).map((k) => k.id)
  const [endpoint, setEndpoint] = useState('chat')
  const [key, setKey] = useState(keys[0] ?? '')
  const [headers, setHeaders] = useState('X-Session-Id: example')
  const [body, setBody] = useState(() => example(document))
  const [wrong, setWrong] = useState('')
  const plan = useMutation({ mutationFn: async (q: Question) => (await call<Explanation>('/admin/explain', { method: 'POST', body: q })).value })
  const submit = (e: FormEvent) => {
    e.preventDefault()
    try {
      const parsed: unknown = JSON.parse(body)
      setWrong('')
      plan.mutate({ endpoint, key, headers: headerLines(headers), body: parsed })
    } catch (error) {
      setWrong(String(error instanceof Error ? error.message : error))
    }
  }
  const x = plan.data
  return (
    <div className="columns">
      <Card title={t('explain.request')}>
        <form className="stack loose" onSubmit={submit}>
          <div className="fields">
            <Field label={t('playground.endpoint')}>
              {(f) => <select {...f} value={endpoint} onChange={(e) => setEndpoint(e.target.value)}><option>chat</option><option>responses</option><option>messages</option></select>}
            </Field>
            <Field label={t('explain.key')} hint={t('explain.keyHint')}>
              {(f) => <><input {...f} list="known-keys" value={key} onChange={(e) => setKey(e.target.value)} /><datalist id="known-keys">{keys.map((k) => <option key={k} value={k} />)}</datalist></>}
            </Field>
          </div>
          <Field label={t('explain.headers')} hint={t('explain.headersHint')}>
            {(f) => <textarea {...f} className="mono" rows={2} spellCheck={false} value={headers} onChange={(e) => setHeaders(e.target.value)} />}
          </Field>
          <Field label={t('explain.body')} error={wrong || undefined}>
            {(f) => <textarea {...f} className="mono" rows={14} spellCheck={false} value={body} onChange={(e) => setBody(e.target.value)} />}
          </Field>
          <div><Button type="submit" kind="primary" disabled={plan.isPending || key === ''}>{t('explain.go')}</Button></div>
        </form>
      </Card>
      <Card title={t('explain.plan')}>
        {!x && !plan.error && <p className="hint">{t('explain.none')}</p>}
        {plan.error && <ErrorNote error={plan.error} />}
        {x && (
          <div className="stack loose">
            <dl className="pairs">
              <div><dt>{t('detail.source')}</dt><dd>{x.session?.session_source || '–'} {isInferred(x.session?.session_source ?? '') && <Badge tone="info">{t('sources.inferred')}</Badge>}</dd></div>
              {x.session?.session_id && <div><dt>{t('columns.session')}</dt><dd><code>{x.session.session_id}</code></dd></div>}
              <div><dt>{t('detail.affinity')}</dt><dd><Affinity outcome={x.affinity ?? ''} /></dd></div>
              <div><dt>{t('columns.model')}</dt><dd>{x.model}</dd></div>
            </dl>
            <Why explanation={x} />
          </div>
        )}
      </Card>
    </div>
  )
}

// headerLines reads one header a line, as they are pasted.
export function headerLines(text: string): Record<string, string> {
  const all: Record<string, string> = {}
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) all[line.slice(0, colon).trim()] = line.slice(colon + 1).trim()
  }
  return all
}

function example(document: Document): string {
  const model = document.groups?.[0]?.name ?? document.deployments[0]?.model ?? ''
  return JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }, null, 2)
}
