import { useQuery } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { sessionQuery } from './api/queries.ts'
import { Shell } from './layout/shell.tsx'
import { NotFound } from './pages/not-found.tsx'
import { Failed, Loading } from './parts/states.tsx'
import { SignIn } from './session/sign-in.tsx'

/** What stands in the query string of the lists: a filter that is not set is not in it. */
export type ListSearch = Readonly<Partial<Record<string, string>>>

const asTexts = (search: Record<string, unknown>): ListSearch =>
  Object.fromEntries(Object.entries(search).flatMap(([key, value]) => (typeof value === 'string' && value !== '' ? [[key, value]] : [])))

const root = createRootRoute({ component: Root, notFoundComponent: NotFound })

function Root() {
  const session = useQuery(sessionQuery)
  const { refused } = root.useRouteContext() as { readonly refused?: string | null }
  if (session.data) return <Shell />
  if (session.data === null) return <SignIn refused={refused ?? null} />
  if (session.error) {
    return (
      <main className="alone">
        <h1>No answer</h1>
        <Failed error={session.error} onRetry={() => void session.refetch()} />
      </main>
    )
  }
  return <Loading />
}

const page = { getParentRoute: () => root, validateSearch: asTexts } as const

const routes = [createRoute({ ...page, path: '/', component: lazyRouteComponent(() => import('./pages/overview.tsx'), 'Overview') })]

/** @param context `refused`: why the token that the address brought was refused. */
export function createConsoleRouter(context: { readonly refused: string | null }) {
  return createRouter({
    routeTree: root.addChildren(routes),
    basepath: '/console',
    context,
    defaultPreload: 'intent',
    scrollRestoration: true,
    // As any program would write it: no JSON in an address.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const text = new URLSearchParams(Object.entries(asTexts(search)).flatMap(([key, value]) => (value ? [[key, value]] : []))).toString()
      return text === '' ? '' : `?${text}`
    },
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
