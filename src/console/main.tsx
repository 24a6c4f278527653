import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Refusal } from './api/client.ts'
import { watchInputs } from './layout/last-input.ts'
import { applyTheme } from './layout/theme.ts'
import { createConsoleRouter } from './router.tsx'
import { returnToAddress, signInByAddress, takeTokenFromAddress } from './session/session.ts'
import './styles/font.css'
import './styles/tokens.css'
import './styles/base.css'
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

const MOST_TRIES = 2

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // What was refused stays refused; who does not answer is asked again.
      retry: (count, error) => count < MOST_TRIES && !(error instanceof Refusal && error.status !== null && error.status < 500),
      // A browser that thinks itself offline may well reach this machine.
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
})

async function start(root: HTMLElement): Promise<void> {
  applyTheme()
  watchInputs()
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
