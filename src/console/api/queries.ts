import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { clearMessage } from './announce.ts'
import { ApiError, api, type Schemas, unwrap } from './client.ts'
import { type Filter, read, readPages, refetchMs } from './read.ts'

const SESSION = ['/api/v1/session']

/** Deletes all cached data except the session, so that the next user can't see the data. */
export function forgetAll(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey: [key] }) => key !== SESSION[0] })
  clearMessage()
}

/**
 * The signed-in user; null if no user is signed in. Fetched regularly, because another window may sign out or sign in
 * as another user. If the user changed, cached data is deleted.
 */
export const sessionQuery = queryOptions({
  queryKey: SESSION,
  queryFn: async ({ signal, client }) => {
    const before = client.getQueryData<Schemas['Session'] | null>(SESSION)
    const now = await session(signal)
    if (before && before.name !== now?.name) forgetAll(client)
    return now
  },
  staleTime: refetchMs.rarely,
  refetchInterval: refetchMs.rarely,
})

async function session(signal: AbortSignal): Promise<Schemas['Session'] | null> {
  try {
    return await unwrap(api.GET('/api/v1/session', { signal }))
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}

const live = { refetchInterval: refetchMs.live }
const steady = { ...live, placeholderData: keepPreviousData }

export const methodsQuery = read('/api/v1/session/methods', {}, { staleTime: refetchMs.rarely })
/** Data for the top bar and the filters. The overview page uses the same data, and fetches it more often. */
export const overviewQuery = read('/api/v1/overview', {}, { refetchInterval: refetchMs.summary })
export const completenessQuery = read('/api/v1/completeness', {}, { refetchInterval: refetchMs.rarely })
export const destinationsQuery = read('/api/v1/destinations', {}, live)
export const accountsQuery = read('/api/v1/accounts', {}, live)
export const alarmsQuery = read('/api/v1/alarms', { query: { all: true } }, live)
export const statusQuery = read('/api/v1/status', {}, { refetchInterval: refetchMs.rarely })
export const processesQuery = read('/api/v1/processes', {}, { refetchInterval: refetchMs.summary })
export const apiChangesQuery = read('/api/v1/api-changes')
export const settingsQuery = read('/api/v1/settings')
export const alarmHistoryQuery = readPages('/api/v1/alarms/history', { query: { limit: 10 } })
export const actionsQuery = readPages('/api/v1/actions', { query: { limit: 20 } })

export const foundQuery = (limit: number) => read('/api/v1/found-without-webhook', { query: { limit } }, steady)

export const windows = ['1h', '24h', '7d', '30d'] as const
export type Window = (typeof windows)[number]
export const historyQuery = (window: Window) =>
  read('/api/v1/history', { query: { window } }, { ...steady, refetchInterval: refetchMs.summary })

export const searchQuery = (q: string) => read('/api/v1/search', { query: { q } })

export const submissionsQuery = (query: Filter<'/api/v1/submissions'>) => readPages('/api/v1/submissions', { query })

export const submissionCountsQuery = (account?: string) => read('/api/v1/submissions/counts', { query: { account } }, steady)

/** @param at shows the submission as the mirror knew it at this time. Undefined shows the current data. */
export const submissionQuery = (account: string, submission_id: string, at?: string) =>
  read('/api/v1/submissions/{account}/{submission_id}', { path: { account, submission_id }, query: { at } }, at ? {} : live)

type Kinds = Filter<'/api/v1/submissions/{account}/{submission_id}/timeline'>['kinds']
export const timelineQuery = (account: string, submission_id: string, kinds: Kinds, at?: string) =>
  readPages('/api/v1/submissions/{account}/{submission_id}/timeline', { path: { account, submission_id }, query: { limit: 50, kinds, at } })

const MAX_REJECTED = 100

export const deliveriesQuery = (query: Filter<'/api/v1/inbox'>) => readPages('/api/v1/inbox', { query })
export const deliveryCountsQuery = (account?: string) => read('/api/v1/inbox/counts', { query: { account } }, steady)
/** Fetched repeatedly only until the delivery is settled, because each fetch adds an entry to the audit log. */
export const deliveryQuery = (id: string) =>
  read(
    '/api/v1/inbox/{id}',
    { path: { id } },
    { refetchInterval: ({ state: { data } }) => data?.items.some(({ settled_at }) => settled_at === null) && refetchMs.live },
  )
export const deliveryResultQuery = (id: string) => read('/api/v1/inbox/{id}/changes', { path: { id } }, live)
export const rejectedQuery = (account?: string) => readPages('/api/v1/rejected', { query: { account } })
export const recentRejectionsQuery = (account?: string) =>
  read('/api/v1/rejected', { query: { account, open: true, since: '24h', limit: MAX_REJECTED } }, steady)
export const rejectedDeliveryQuery = (id: string) => read('/api/v1/rejected/{id}', { path: { id } })

export const documentsQuery = (query: Filter<'/api/v1/documents'>) => readPages('/api/v1/documents', { query })

export const outboxQuery = (query: Filter<'/api/v1/outbox'>) => readPages('/api/v1/outbox', { query })
export const failuresQuery = (name: string) => read('/api/v1/destinations/{name}/failures', { path: { name } }, steady)
export const exchangeQuery = (id: string) => read('/api/v1/outbox/{id}/exchange', { path: { id } })
export const unmappedQuery = (name: string, query: Filter<'/api/v1/destinations/{name}/unmapped'>) =>
  readPages('/api/v1/destinations/{name}/unmapped', { path: { name }, query })

export function isOpen({ state }: Pick<Schemas['ReconcileRun'], 'state'>): boolean {
  return state === 'requested' || state === 'running'
}

export const runsQuery = (account?: string) => readPages('/api/v1/reconcile-runs', { query: { account } })
export const runQuery = (id: string) => read('/api/v1/reconcile-runs/{id}', { path: { id } }, live)
export const findingsQuery = (id: string) => readPages('/api/v1/reconcile-runs/{id}/findings', { path: { id }, query: { limit: 200 } })

/**
 * A row with its personal values. Fetched only if the user asks for it, because each fetch adds an entry to
 * the audit log.
 */
export const rowQuery = (table: string, key: string) =>
  read('/api/v1/rows/{table}/{key}', { path: { table: table as 'submissions', key } }, { staleTime: Number.POSITIVE_INFINITY })
