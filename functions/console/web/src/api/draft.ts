import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'

// draftKey is where a half-edited document is kept while other pages are looked at.
export const draftKey = ['draft']

// useHasDraft returns what tells whether there is a draft now.
export function useHasDraft(): () => boolean {
  const client = useQueryClient()
  return () => client.getQueryData(draftKey) !== undefined
}

// useDraftWarning has the browser ask before the tab is closed or loaded anew while
// there is a draft, on whichever page: it would be lost.
export function useDraftWarning() {
  const client = useQueryClient()
  useEffect(() => {
    const ask = (e: BeforeUnloadEvent) => {
      if (client.getQueryData(draftKey) !== undefined) e.preventDefault()
    }
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [client])
}
