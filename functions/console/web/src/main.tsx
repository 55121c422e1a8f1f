import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/client'
import { sessionQuery } from './api/session'
import { App, fetchPage } from './app/App'
import { startLanguages } from './app/i18n'
import { startTheme } from './app/theme'
import './styles/tokens.css'
import './styles/base.css'
import './styles/layout.css'
import './styles/table.css'
import './styles/pages.css'

// A refusal stays one however often it is asked; what did not arrive may, once.
const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < 1 && error instanceof ApiError && (error.status === 0 || error.status >= 500),
    },
  },
})

// What the first page needs is asked for at once, and not one after another.
void client.prefetchQuery(sessionQuery)
fetchPage(location.pathname)
startTheme()
await startLanguages()
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
)
