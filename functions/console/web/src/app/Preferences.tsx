import { useTranslation } from 'react-i18next'
import { Segmented } from '../ui/basics'
import { speak, type Language } from './i18n'
import { choose, useChosenTheme } from './theme'

// Preferences are the language and the theme, both remembered.
export function Preferences() {
  const { t, i18n } = useTranslation()
  const theme = useChosenTheme()
  return (
    <div className="preferences">
      <Segmented hideLabel label={t('ui.language')} value={i18n.language as Language} onChange={(l) => void speak(l)}
        options={[{ value: 'en', text: 'English' }, { value: 'zh', text: '中文' }]} />
      <Segmented hideLabel label={t('ui.theme')} value={theme} onChange={choose}
        options={[{ value: 'system', text: t('ui.system') }, { value: 'light', text: t('ui.light') }, { value: 'dark', text: t('ui.dark') }]} />
    </div>
  )
}
