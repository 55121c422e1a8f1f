import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'

export const languages = ['en', 'zh'] as const
export type Language = (typeof languages)[number]

const remembered = 'holdfast.language'

// preferred is the remembered language, or the browser's where none is.
export function preferred(kept = localStorage.getItem(remembered), browser: readonly string[] = navigator.languages): Language {
  if (kept === 'en' || kept === 'zh') return kept
  for (const tag of browser) {
    const language = tag.toLowerCase().split('-')[0]
    if (language === 'en' || language === 'zh') return language
  }
  return 'en'
}

async function texts(language: Language) {
  return language === 'zh' ? (await import('../locales/zh.json')).default : (await import('../locales/en.json')).default
}

export async function startLanguages(): Promise<void> {
  const language = preferred()
  await i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: false,
    resources: { [language]: { translation: await texts(language) } },
    interpolation: { escapeValue: false }, // React escapes
    returnNull: false,
  })
  mark(language)
}

export async function speak(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'translation')) {
    i18next.addResourceBundle(language, 'translation', await texts(language))
  }
  localStorage.setItem(remembered, language)
  await i18next.changeLanguage(language)
  mark(language)
}

function mark(language: Language) {
  document.documentElement.lang = language === 'zh' ? 'zh-Hans' : 'en'
}
