import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError } from './api/client.ts'
import { applyTheme } from './layout/theme.ts'
import { createConsoleRouter } from './router.tsx'
import { returnToAddress, signInByAddress, takeTokenFromAddress } from './session/session.ts'
import './styles/font.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/primitives.css'
import './styles/layout.css'
import './styles/buttons.css'
import './styles/states.css'
import './styles/floating.css'
import './styles/lists.css'
import './styles/details.css'
import './styles/json.css'
import './styles/pages.css'
import './styles/submission.css'
import './styles/narrow.css'
import './styles/stacked.css'

const MAX_RETRIES = 2

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // Repeat a request that got no answer or a server error (5xx). Don't repeat a rejected request (4xx).
      retry: (count, error) => count < MAX_RETRIES && !(error instanceof ApiError && error.status !== null && error.status < 500),
      // Send requests even if the browser says that it is offline. The program may still be reachable in
      // the local network.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

async function start(root: HTMLElement): Promise<void> {
  applyTheme()
  returnToAddress()
  const token = takeTokenFromAddress()
  if (token !== null) await signInByAddress(client, token)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={createConsoleRouter({ token })} />
      </QueryClientProvider>
    </StrictMode>,
  )
}

const root = document.getElementById('root')
if (root) void start(root)
