import { useQuery } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, type SearchMiddleware } from '@tanstack/react-router'
import { sessionQuery } from './api/queries.ts'
import type { ListSearch } from './layout/search.ts'
import { Shell } from './layout/shell.tsx'
import { NotFound } from './pages/not-found.tsx'
import { Failed, Loading } from './parts/states.tsx'
import { SignIn } from './session/sign-in.tsx'

const toListSearch = (search: Record<string, unknown>): ListSearch =>
  Object.fromEntries(Object.entries(search).flatMap(([key, value]) => (typeof value === 'string' && value !== '' ? [[key, value]] : [])))

/** Keeps the account filter when the user opens another page. If the link names an account, uses that account. */
const keepAccount: SearchMiddleware<ListSearch> = ({ search, next }) => {
  const result = next(search)
  const { account } = search
  return account === undefined || 'account' in result ? result : { ...result, account }
}

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  validateSearch: toListSearch,
  search: { middlewares: [keepAccount] },
})

function Root() {
  const session = useQuery(sessionQuery)
  const { token } = root.useRouteContext() as { readonly token?: string | null }
  if (session.data) return <Shell />
  if (session.data === null) return <SignIn token={token ?? ''} />
  if (session.error) {
    return (
      <main className="alone stack">
        <h1>Not reachable</h1>
        <Failed error={session.error} onRetry={() => void session.refetch()} />
      </main>
    )
  }
  return <Loading />
}

const page = { getParentRoute: () => root, validateSearch: toListSearch } as const

const views = {
  Overview: lazyRouteComponent(() => import('./pages/overview/overview.tsx'), 'Overview'),
  Submissions: lazyRouteComponent(() => import('./pages/submissions.tsx'), 'Submissions'),
  Submission: lazyRouteComponent(() => import('./pages/submission/submission.tsx'), 'Submission'),
  Documents: lazyRouteComponent(() => import('./pages/documents.tsx'), 'Documents'),
  Deliveries: lazyRouteComponent(() => import('./pages/deliveries/deliveries.tsx'), 'Deliveries'),
  Delivery: lazyRouteComponent(() => import('./pages/deliveries/delivery.tsx'), 'Delivery'),
  Destinations: lazyRouteComponent(() => import('./pages/destinations/destinations.tsx'), 'Destinations'),
  Destination: lazyRouteComponent(() => import('./pages/destinations/destination.tsx'), 'Destination'),
  Reconcile: lazyRouteComponent(() => import('./pages/reconcile/reconcile.tsx'), 'Reconcile'),
  Run: lazyRouteComponent(() => import('./pages/reconcile/run.tsx'), 'Run'),
  Operations: lazyRouteComponent(() => import('./pages/operations/operations.tsx'), 'Operations'),
}

const deliveries = createRoute({ ...page, path: '/deliveries', component: views.Deliveries })
const destinations = createRoute({ ...page, path: '/destinations', component: views.Destinations })
const reconcile = createRoute({ ...page, path: '/reconcile', component: views.Reconcile })

const routes = root.addChildren([
  createRoute({ ...page, path: '/', component: views.Overview }),
  createRoute({ ...page, path: '/submissions', component: views.Submissions }),
  createRoute({ ...page, path: '/submissions/$account/$submission_id', component: views.Submission }),
  createRoute({ ...page, path: '/documents', component: views.Documents }),
  deliveries.addChildren([createRoute({ getParentRoute: () => deliveries, path: '$delivery', component: views.Delivery })]),
  destinations.addChildren([createRoute({ getParentRoute: () => destinations, path: '$name', component: views.Destination })]),
  reconcile.addChildren([createRoute({ getParentRoute: () => reconcile, path: '$run_id', component: views.Run })]),
  createRoute({ ...page, path: '/operations', component: views.Operations }),
])

export function createConsoleRouter(context: { readonly token: string | null }) {
  return createRouter({
    routeTree: routes,
    defaultPendingComponent: Loading,
    defaultErrorComponent: ({ error, reset }) => (
      <div className="page">
        <Failed error={error instanceof Error ? error : new Error(String(error))} onRetry={reset} />
      </div>
    ),
    basepath: '/console',
    context,
    defaultPreload: 'intent',
    scrollRestoration: true,
    // Write plain query strings. By default, the router would write values as JSON.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const text = new URLSearchParams(
        Object.entries(toListSearch(search)).flatMap(([key, value]) => (value ? [[key, value]] : [])),
      ).toString()
      return text === '' ? '' : `?${text}`
    },
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
