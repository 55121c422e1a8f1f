import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark' | 'system'

const remembered = 'holdfast.theme'
const listeners = new Set<() => void>()
const dark = () => window.matchMedia('(prefers-color-scheme: dark)')

export function chosen(): Theme {
  const kept = localStorage.getItem(remembered)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

function shown(): 'light' | 'dark' {
  const theme = chosen()
  return theme === 'system' ? (dark().matches ? 'dark' : 'light') : theme
}

// paint puts the theme onto the page, now and whenever the system changes.
export function startTheme(): void {
  const paint = () => {
    document.documentElement.dataset.theme = shown()
    for (const tell of listeners) tell()
  }
  dark().addEventListener('change', paint)
  paint()
}

export function choose(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(remembered)
  else localStorage.setItem(remembered, theme)
  document.documentElement.dataset.theme = shown()
  for (const tell of listeners) tell()
}

// useTheme is what is shown, for what is drawn and not styled.
export function useTheme(): 'light' | 'dark' {
  return useSyncExternalStore((tell) => {
    listeners.add(tell)
    return () => listeners.delete(tell)
  }, shown)
}

export function useChosenTheme(): Theme {
  return useSyncExternalStore((tell) => {
    listeners.add(tell)
    return () => listeners.delete(tell)
  }, chosen)
}
