import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { silence } from './announce.ts'
import { answered, api, Refusal, type Schemas } from './client.ts'
import { every, type Filter, read, readPages } from './read.ts'

const SESSION = ['/api/v1/session']

/** Forgets all that was shown and said to one person: nothing of it stays for whoever signs in next. */
export function forgetAll(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey: [key] }) => key !== SESSION[0] })
  silence()
}

/** Who is signed in; null when nobody is. A session may end by itself, or become another's in another window. */
export const sessionQuery = queryOptions({
  queryKey: SESSION,
  queryFn: async ({ signal, client }) => {
    const before = client.getQueryData<Schemas['Session'] | null>(SESSION)
    const now = await session(signal)
    if (before && before.name !== now?.name) forgetAll(client)
    return now
  },
  staleTime: every.seldom,
  refetchInterval: every.seldom,
})

async function session(signal: AbortSignal): Promise<Schemas['Session'] | null> {
  try {
    return await answered(api.GET('/api/v1/session', { signal }))
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return null
    throw error
  }
}

const moment = { refetchInterval: every.moment }
const kept = { refetchInterval: every.while, placeholderData: keepPreviousData }

/** How one may sign in. */
export const methodsQuery = read('/api/v1/session/methods', {}, { staleTime: every.seldom })
export const overviewQuery = read('/api/v1/overview', {}, moment)
export const completenessQuery = read('/api/v1/completeness', {}, { refetchInterval: every.seldom })
export const destinationsQuery = read('/api/v1/destinations', {}, moment)
export const accountsQuery = read('/api/v1/accounts', {}, { refetchInterval: every.while })
export const alarmsQuery = read('/api/v1/alarms', { query: { all: true } }, { refetchInterval: every.while })
export const statusQuery = read('/api/v1/status', {}, { refetchInterval: every.seldom })
export const processesQuery = read('/api/v1/processes', {}, { refetchInterval: every.while })
export const interfaceDriftQuery = read('/api/v1/interface-drift')
export const settingsQuery = read('/api/v1/settings')
export const alarmHistoryQuery = readPages('/api/v1/alarms/history', { query: { limit: 10 } })
export const actionsQuery = readPages('/api/v1/actions', { query: { limit: 20 } })

/** @param limit how many of the newest. */
export const foundQuery = (limit: number) => read('/api/v1/found-without-webhook', { query: { limit } }, kept)

export const windows = ['1h', '24h', '7d', '30d'] as const
export type Window = (typeof windows)[number]
export const historyQuery = (window: Window) => read('/api/v1/history', { query: { window } }, kept)

export const searchQuery = (q: string) => read('/api/v1/search', { query: { q } })

export const submissionsQuery = (query: Filter<'/api/v1/submissions'>) => readPages('/api/v1/submissions', { query })

export const submissionCountsQuery = (account?: string) => read('/api/v1/submissions/counts', { query: { account } }, kept)

export const submissionQuery = (account: string, submission_id: string) =>
  read('/api/v1/submissions/{account}/{submission_id}', { path: { account, submission_id } }, { refetchInterval: every.while })

type Kinds = Filter<'/api/v1/submissions/{account}/{submission_id}/timeline'>['kinds']
export const timelineQuery = (account: string, submission_id: string, kinds: Kinds) =>
  readPages('/api/v1/submissions/{account}/{submission_id}/timeline', { path: { account, submission_id }, query: { limit: 50, kinds } })

/** Refused deliveries of a day are counted up to this. */
const MOST_REFUSED = 100

export const deliveriesQuery = (query: Filter<'/api/v1/inbox'>) => readPages('/api/v1/inbox', { query }, every.moment)
export const deliveryCountsQuery = (account?: string) => read('/api/v1/inbox/counts', { query: { account } }, kept)
export const deliveryQuery = (id: string) => read('/api/v1/inbox/{id}', { path: { id } })
export const becameQuery = (id: string) => read('/api/v1/inbox/{id}/changes', { path: { id } })
export const rejectedQuery = (account?: string) => readPages('/api/v1/rejected', { query: { account } })
/** Those of the last day that were not accepted later. */
export const refusedLatelyQuery = (account?: string) =>
  read('/api/v1/rejected', { query: { account, open: true, since: '24h', limit: MOST_REFUSED } }, kept)
export const rejectedOneQuery = (id: string) => read('/api/v1/rejected/{id}', { path: { id } })

export const documentsQuery = (query: Filter<'/api/v1/documents'>) => readPages('/api/v1/documents', { query }, every.while)

export const outboxQuery = (query: Filter<'/api/v1/outbox'>) => readPages('/api/v1/outbox', { query })
export const failuresQuery = (name: string) => read('/api/v1/destinations/{name}/failures', { path: { name } }, kept)
export const exchangeQuery = (id: string) => read('/api/v1/outbox/{id}/exchange', { path: { id } })
export const unmappedQuery = (name: string, query: Filter<'/api/v1/destinations/{name}/unmapped'>) =>
  readPages('/api/v1/destinations/{name}/unmapped', { path: { name }, query })

/** Whether a run goes on. */
export function isOpen({ state }: Pick<Schemas['ReconcileRun'], 'state'>): boolean {
  return state === 'requested' || state === 'running'
}

export const runsQuery = (account?: string) => readPages('/api/v1/reconcile-runs', { query: { account } }, every.moment)
export const runQuery = (id: string) =>
  read(
    '/api/v1/reconcile-runs/{id}',
    { path: { id } },
    { refetchInterval: ({ state: { data } }) => (data && isOpen(data) ? 1_000 : every.while) },
  )
export const findingsQuery = (id: string) => readPages('/api/v1/reconcile-runs/{id}/findings', { path: { id }, query: { limit: 200 } })

/** A row whole, as it is: asked for only when somebody wants to see it, which is noted. */
export const rowQuery = (table: string, key: string) =>
  read('/api/v1/rows/{table}/{key}', { path: { table: table as 'submissions', key } }, { staleTime: Number.POSITIVE_INFINITY })
