import { useQuery } from '@tanstack/react-query'
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, type SearchMiddleware } from '@tanstack/react-router'
import { sessionQuery } from './api/queries.ts'
import type { ListSearch } from './layout/search.ts'
import { Shell } from './layout/shell.tsx'
import { NotFound } from './pages/not-found.tsx'
import { Failed, Loading } from './parts/states.tsx'
import { SignIn } from './session/sign-in.tsx'

const asTexts = (search: Record<string, unknown>): ListSearch =>
  Object.fromEntries(Object.entries(search).flatMap(([key, value]) => (typeof value === 'string' && value !== '' ? [[key, value]] : [])))

/** The account that was chosen is kept while one goes from page to page; a link that names one, or none, says so itself. */
const keepAccount: SearchMiddleware<ListSearch> = ({ search, next }) => {
  const result = next(search)
  const { account } = search
  return account === undefined || 'account' in result ? result : { ...result, account }
}

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFound,
  validateSearch: asTexts,
  search: { middlewares: [keepAccount] },
})

function Root() {
  const session = useQuery(sessionQuery)
  const { token } = root.useRouteContext() as { readonly token?: string | null }
  if (session.data) return <Shell />
  if (session.data === null) return <SignIn token={token ?? ''} />
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

const deliveries = createRoute({
  ...page,
  path: '/deliveries',
  component: lazyRouteComponent(() => import('./pages/deliveries/deliveries.tsx'), 'Deliveries'),
})
const destinations = createRoute({
  ...page,
  path: '/destinations',
  component: lazyRouteComponent(() => import('./pages/destinations/destinations.tsx'), 'Destinations'),
})
const reconcile = createRoute({
  ...page,
  path: '/reconcile',
  component: lazyRouteComponent(() => import('./pages/reconcile/reconcile.tsx'), 'Reconcile'),
})

/** A list holds what is opened of it. */
const routes = root.addChildren([
  createRoute({ ...page, path: '/', component: lazyRouteComponent(() => import('./pages/overview/overview.tsx'), 'Overview') }),
  createRoute({ ...page, path: '/submissions', component: lazyRouteComponent(() => import('./pages/submissions.tsx'), 'Submissions') }),
  createRoute({
    ...page,
    path: '/submissions/$account/$submission_id',
    component: lazyRouteComponent(() => import('./pages/submission/submission.tsx'), 'Submission'),
  }),
  createRoute({ ...page, path: '/documents', component: lazyRouteComponent(() => import('./pages/documents.tsx'), 'Documents') }),
  deliveries.addChildren([
    createRoute({
      getParentRoute: () => deliveries,
      path: '$delivery',
      component: lazyRouteComponent(() => import('./pages/deliveries/delivery.tsx'), 'Delivery'),
    }),
  ]),
  destinations.addChildren([
    createRoute({
      getParentRoute: () => destinations,
      path: '$name',
      component: lazyRouteComponent(() => import('./pages/destinations/destination.tsx'), 'Destination'),
    }),
  ]),
  reconcile.addChildren([
    createRoute({
      getParentRoute: () => reconcile,
      path: '$run_id',
      component: lazyRouteComponent(() => import('./pages/reconcile/run.tsx'), 'Run'),
    }),
  ]),
  createRoute({
    ...page,
    path: '/operations',
    component: lazyRouteComponent(() => import('./pages/operations/operations.tsx'), 'Operations'),
  }),
])

/** @param context `token`: from the address of the page. */
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
