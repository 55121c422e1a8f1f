import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError, type Problem } from '../../api/client'
import { draftKey } from '../../api/draft'
import { pretty, useSave, type Document, type Stored } from '../../api/config'
import { Button, Card, ErrorNote, Segmented } from '../../ui/basics'
import { DocumentForm } from './DocumentForm'

// Editor changes one draft, as a form or as a document. What the form does not
// show stays as it is. The server validates.
export function Editor({ stored }: { stored: Stored }) {
  const { t } = useTranslation()
  const [as, setAs] = useState<'form' | 'document'>('form')
  const { base, text, setText, begin } = useDraft(stored)
  const save = useSave()
  const draft = parse(text)
  const changed = text !== base.text
  const stale = stored.etag !== base.etag
  const reload = () => {
    begin({ etag: stored.etag, text: pretty(stored.document) })
    save.reset()
  }
  const submit = () => save.mutate({ text, etag: base.etag }, {
    onSuccess: ({ revision }) => begin({ etag: `"${revision}"`, text }),
  })
  const conflict = save.error instanceof ApiError && save.error.status === 409
  return (
    <Card title={t('edit.title')} actions={<>
      <Segmented hideLabel label={t('edit.as')} value={as} onChange={setAs}
        options={[{ value: 'form', text: t('edit.form') }, { value: 'document', text: t('edit.document') }]} />
      <Button onClick={reload} disabled={!changed && !stale}>{t('edit.discard')}</Button>
      <Button kind="primary" onClick={submit} disabled={!changed || save.isPending}>{t('edit.save')}</Button>
    </>}>
      <p className="hint">{t('edit.hint')}</p>
      {stale && !save.isPending && changed && (
        <div className="note warn" role="status"><p>{t('edit.stale')}</p><p className="note-foot"><span /><Button small onClick={reload}>{t('edit.reload')}</Button></p></div>
      )}
      {save.error && <ErrorNote error={save.error} />}
      {conflict && <p className="note warn">{t('edit.conflict')}</p>}
      {save.isSuccess && !changed && <Saved problems={save.data.problems ?? []} revision={save.data.revision} />}
      {as === 'document' && (
        <>
          <label className="hidden" htmlFor="document">{t('edit.document')}</label>
          <textarea id="document" className="mono" rows={30} spellCheck={false} value={text} onChange={(e) => setText(e.target.value)} />
        </>
      )}
      {as === 'form' && (draft
        ? <DocumentForm document={draft} problems={save.error instanceof ApiError ? save.error.problems : []} onChange={(d) => setText(pretty(d))} />
        : <p className="note warn">{t('edit.notJson')}</p>)}
    </Card>
  )
}

// Base is what a draft began with.
interface Base {
  etag: string
  text: string
}

// useDraft is the draft, which lasts while another view or page is looked at: what
// is half done is not lost by asking what it would do. It ends with the sign-in.
function useDraft(stored: Stored) {
  const client = useQueryClient()
  const [draft, setDraft] = useState(() => {
    const base = { etag: stored.etag, text: pretty(stored.document) }
    return client.getQueryData<{ base: Base; text: string }>(draftKey) ?? { base, text: base.text }
  })
  const keep = (base: Base, text: string) => {
    client.setQueryDefaults(draftKey, { gcTime: Infinity })
    if (text === base.text) client.removeQueries({ queryKey: draftKey })
    else client.setQueryData(draftKey, { base, text })
    setDraft({ base, text })
  }
  return { ...draft, setText: (text: string) => keep(draft.base, text), begin: (base: Base) => keep(base, base.text) }
}

function Saved({ problems, revision }: { problems: Problem[]; revision: string }) {
  const { t } = useTranslation()
  return (
    <div className="note good" role="status">
      <p>{t('edit.saved', { revision })}</p>
      {problems.length > 0 && <ul className="problems">{problems.map((p) => <li key={p.path + p.message}><code>{p.path}</code> {p.message}</li>)}</ul>}
    </div>
  )
}

// parse returns the draft, undefined while it is no JSON: a document may be
// typed as YAML, which only the server reads.
export function parse(text: string): Document | undefined {
  try {
    const d = JSON.parse(text) as Document
    return Array.isArray(d.deployments) && Array.isArray(d.connections) ? d : undefined
  } catch {
    return undefined
  }
}
