import { useSyncExternalStore } from 'react'

// The API key that the playground acts with. It is held by this tab alone and
// until it is closed: requests go from the browser to the gateway, which may be
// another origin, so the sign-in's cookie cannot carry it.

const name = 'holdfast.key'
const listeners = new Set<() => void>()

export function heldKey(): string {
  return sessionStorage.getItem(name) ?? ''
}

export function holdKey(key: string): void {
  if (key === '') sessionStorage.removeItem(name)
  else sessionStorage.setItem(name, key)
  for (const tell of listeners) tell()
}

export function useHeldKey(): string {
  return useSyncExternalStore((tell) => {
    listeners.add(tell)
    return () => listeners.delete(tell)
  }, heldKey)
}

// masked shows enough of a key to recognise it by.
export function masked(key: string): string {
  return key.length <= 12 ? '••••' : `${key.slice(0, 6)}…${key.slice(-4)}`
}
