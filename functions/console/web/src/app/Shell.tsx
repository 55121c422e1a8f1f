import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Link, useLocation } from 'wouter'
import { useHasDraft } from '../api/draft'
import { useSignOut, type Session } from '../api/session'
import { forget } from '../pages/playground/conversation'
import { holdKey } from '../pages/playground/key'
import { Button, ErrorNote } from '../ui/basics'
import { Confirm } from '../ui/Dialog'
import { Boundary } from '../ui/Boundary'
import { Icon, Mark, type IconName } from './icons'
import { Preferences } from './Preferences'

const pages: readonly { path: string; icon: IconName; admin: boolean }[] = [
  { path: 'playground', icon: 'chat', admin: false },
  { path: 'sessions', icon: 'list', admin: true },
  { path: 'usage', icon: 'chart', admin: true },
  { path: 'routing', icon: 'route', admin: true },
  { path: 'keys', icon: 'key', admin: true },
  { path: 'affinity', icon: 'anchor', admin: true },
]

export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const { t } = useTranslation()
  const [location] = useLocation()
  const signOut = useSignOut()
  // The next person at this browser finds neither the key nor the conversation.
  const leaving = useMutation({ mutationFn: signOut, onSuccess: () => { forget(); holdKey('') } })
  const hasDraft = useHasDraft()
  const [asking, setAsking] = useState(false) // whether the draft may be lost
  const main = useRef<HTMLElement>(null)
  const nav = useRef<HTMLElement>(null)
  const here = pages.find((p) => location.startsWith('/' + p.path))
  useEffect(() => {
    nav.current?.querySelector('.on')?.scrollIntoView?.({ block: 'nearest', inline: 'nearest' })
    document.title = here ? `${t(`pages.${here.path}`)} · Holdfast` : 'Holdfast'
  }, [here, t])
  // Who goes to another page by its link is taken to its content, as by a load.
  const before = useRef(here)
  useEffect(() => {
    if (before.current && before.current !== here) {
      main.current?.focus({ preventScroll: true })
      window.scrollTo(0, 0)
    }
    before.current = here
  }, [here])
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current?.focus() }}>{t('ui.skip')}</a>
      <aside className="side">
        <p className="brand"><Mark /> Holdfast</p>
        <nav ref={nav} aria-label={t('ui.pages')}>
          {pages.filter((p) => session.role === 'admin' || !p.admin).map((p) => (
            <Link key={p.path} href={`/${p.path}`} className={p === here ? 'on' : ''} aria-current={p === here ? 'page' : undefined}>
              <Icon name={p.icon} /> <span>{t(`pages.${p.path}`)}</span>
            </Link>
          ))}
        </nav>
        <div className="side-foot">
          <Preferences />
          <p className="who">{session.role === 'admin' ? t('ui.asAdmin') : t('ui.asKey', { key: session.key })}</p>
          <Button small disabled={leaving.isPending} onClick={() => (hasDraft() ? setAsking(true) : leaving.mutate())}>{t('ui.signOut')}</Button>
        </div>
      </aside>
      <main id="main" ref={main} tabIndex={-1}>
        {leaving.error && <div className="page"><ErrorNote error={leaving.error} onRetry={() => leaving.mutate()} /></div>}
        <Boundary key={here?.path}>{children}</Boundary>
      </main>
      {asking && (
        <Confirm danger title={t('edit.loseTitle')} text={t('edit.loseText')} action={t('ui.signOut')}
          onClose={() => setAsking(false)} onDone={() => { setAsking(false); leaving.mutate() }} />
      )}
    </div>
  )
}
