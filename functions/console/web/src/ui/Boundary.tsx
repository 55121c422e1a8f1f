import { Component, type ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from './basics'

// Boundary keeps a page that cannot be shown from taking the others with it. The
// usual cause is a page of a newer version: its files have other names, and
// loading the console anew finds them.
export class Boundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override render() {
    return this.state.failed ? <Broken /> : this.props.children
  }
}

function Broken() {
  const { t } = useTranslation()
  return (
    <div className="page">
      <div className="note bad" role="alert">
        <p>{t('ui.broken')}</p>
        <p className="note-foot"><span /><Button small onClick={() => location.reload()}>{t('ui.reload')}</Button></p>
      </div>
    </div>
  )
}
