import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Session } from '../../api/session'
import { Button, Card, ErrorNote, Page } from '../../ui/basics'
import { useCaller } from './caller'
import { Composer } from './Composer'
import { useConversation } from './conversation'
import { examples } from './examples'
import { useHeldKey } from './key'
import { KeyChoice } from './KeyChoice'
import { SessionBar } from './SessionBar'
import { SettingsPanel } from './SettingsPanel'
import { Turn } from './Turn'

export function Playground({ session }: { session: Session }) {
  const { t } = useTranslation()
  const key = useHeldKey()
  const caller = useCaller(key)
  const talk = useConversation(session.gateway, key)
  const { conversation, partial } = talk
  const { settings, messages } = conversation
  const models = caller.data?.models

  // A model that this key may not use is not offered on.
  useEffect(() => {
    if (!models || models.length === 0) return
    const known = models.find((m) => m.name === settings.model) ?? models[0]!
    const endpoint = known.endpoints.includes(settings.endpoint) ? settings.endpoint : known.endpoints[0] ?? settings.endpoint
    if (known.name !== settings.model || endpoint !== settings.endpoint) talk.set({ model: known.name, endpoint })
  }, [models, settings.model, settings.endpoint, talk])

  // On narrow screens the conversation comes first.
  const [wide] = useState(() => window.matchMedia('(min-width: 1081px)').matches)
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => { end.current?.scrollIntoView?.({ block: 'nearest' }) }, [messages.length, partial, models])

  const ready = key !== '' && settings.model !== '' && !!caller.data
  return (
    <Page title={t('pages.playground')} hint={t('playground.hint')} actions={<>
      <Button onClick={talk.startAnew}>{t('playground.new')}</Button>
      <Button onClick={talk.clear}>{t('playground.clear')}</Button>
    </>}>
      <div className="playground">
        <div className="playground-side">
          <Card title={t('playground.key')}>
            <KeyChoice held={key} demo={session.demo_key} caller={caller.data} />
            {caller.error && <ErrorNote error={caller.error} onRetry={() => void caller.refetch()} />}
          </Card>
          <details className="card" open={wide}>
            <summary><h2>{t('playground.request')}</h2> <span className="hint">{settings.model && `${settings.model} · ${settings.endpoint}`}</span></summary>
            <SettingsPanel settings={settings} models={models ?? []} onChange={talk.set} />
          </details>
        </div>
        <section className="card talk" aria-label={t('playground.conversation')}>
          <SessionBar conversation={conversation} caller={caller.data} admin={session.role === 'admin'} onOwn={talk.setOwn} />
          <div className="turns" role="log" aria-label={t('playground.conversation')} tabIndex={0}>
            {messages.length === 0 && partial === null && (
              <div className="examples">
                <p className="hint">{t('playground.start')}</p>
                {examples.map((e) => (
                  <button key={e.id} type="button" className="example" disabled={!ready} onClick={() => {
                    talk.set({ ...(e.instructions ? { instructions: e.instructions } : {}), ...(e.tools ? { tools: true } : {}) })
                    void talk.ask(e.text)
                  }}>
                    <strong>{t(`playground.examples.${e.id}`)}</strong>
                    <span lang="en">{e.text}</span>
                  </button>
                ))}
              </div>
            )}
            {messages.map((m, i) => <Turn key={i} message={m} prices={caller.data?.prices} />)}
            {partial !== null && <Turn message={{ role: 'assistant', text: partial, calls: [] }} coming />}
            {talk.open && !talk.busy && <div><Button small disabled={!ready} onClick={() => void talk.again()}>{t('playground.again')}</Button></div>}
            <div ref={end} />
          </div>
          <Composer ready={ready} busy={talk.busy} onSend={(text) => void talk.ask(text)} onStop={talk.stop}
            missing={key === '' ? t('playground.noKey') : undefined} />
        </section>
      </div>
    </Page>
  )
}
