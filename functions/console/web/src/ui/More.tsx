import { useState, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from './basics'

const step = 50 // entries that are drawn at first, and with each press

// useMore draws the beginning of a long list of things that are not rows of a
// table, and the button for more of them.
export function useMore<T>(all: T[]): { some: T[]; more: ReactNode } {
  const { t } = useTranslation()
  const [shown, setShown] = useState(step)
  const more = all.length > shown && (
    <div className="table-foot">
      <span className="hint">{t('ui.shown', { shown, total: all.length })}</span>
      <Button small onClick={() => setShown(shown + step)}>{t('ui.more')}</Button>
    </div>
  )
  return { some: all.slice(0, shown), more }
}
