import i18next from 'i18next'
import { afterEach, vi } from 'vitest'
import { cleanup, configure } from '@testing-library/react'
import { initReactI18next } from 'react-i18next'
import en from '../locales/en.json'

// What jsdom has not: sizes, media queries and dialogs.
vi.stubGlobal('ResizeObserver', class { observe() {} unobserve() {} disconnect() {} })
vi.stubGlobal('matchMedia', (query: string) => ({ matches: query.includes('min-width'), addEventListener() {}, removeEventListener() {} }))
HTMLDialogElement.prototype.showModal = function () { this.open = true }
HTMLDialogElement.prototype.close = function () { this.open = false }

// Busy machines take their time over a page; one that never shows it still fails.
configure({ asyncUtilTimeout: 10_000 })

await i18next.use(initReactI18next).init({ lng: 'en', resources: { en: { translation: en } }, interpolation: { escapeValue: false } })

afterEach(() => {
  cleanup()
  sessionStorage.clear()
  localStorage.clear()
  vi.restoreAllMocks()
})

// Without a layout nothing would be in sight of a list.
Object.defineProperty(HTMLElement.prototype, 'clientHeight', { configurable: true, get: () => 560 })
Object.defineProperty(HTMLElement.prototype, 'clientWidth', { configurable: true, get: () => 1000 })
Object.defineProperty(HTMLElement.prototype, 'offsetHeight', { configurable: true, get: () => 44 })
