import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { answered, api, type Schemas } from './client.ts'
import { every } from './queries.ts'

/** Queries of the pages that are opened less often. */

export const runsQuery = (account?: string) =>
  infiniteQueryOptions({
    queryKey: ['runs', account],
    queryFn: ({ signal, pageParam: cursor }) => {
      const query = { ...(account && { account }), ...(cursor && { cursor }) }
      return answered(api.GET('/api/v1/reconcile-runs', { params: { query }, signal }))
    },
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: every.moment,
  })

/** Whether a run goes on. */
export function isOpen({ state }: Pick<Schemas['ReconcileRun'], 'state'>): boolean {
  return state === 'requested' || state === 'running'
}

export const runQuery = (id: string) =>
  queryOptions({
    queryKey: ['run', id],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/reconcile-runs/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state: { data } }) => (data && isOpen(data) ? 1_000 : every.while),
  })

export const findingsQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['findings', id],
    queryFn: ({ signal, pageParam: cursor }) => {
      const query = { limit: 200, ...(cursor && { cursor }) }
      return answered(api.GET('/api/v1/reconcile-runs/{id}/findings', { params: { path: { id }, query }, signal }))
    },
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: every.while,
  })

export const accountsQuery = queryOptions({
  queryKey: ['accounts'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/accounts', { signal })),
  refetchInterval: every.while,
})

export const alarmsQuery = queryOptions({
  queryKey: ['alarms'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/alarms', { params: { query: { all: true } }, signal })),
  refetchInterval: every.while,
})

export const alarmHistoryQuery = () =>
  infiniteQueryOptions({
    queryKey: ['alarms', 'history'],
    queryFn: ({ signal, pageParam: cursor }) =>
      answered(api.GET('/api/v1/alarms/history', { params: { query: { limit: 10, ...(cursor && { cursor }) } }, signal })),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: every.while,
  })

export const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/status', { signal })),
  refetchInterval: every.seldom,
})

export const becameQuery = (id: string) =>
  queryOptions({
    queryKey: ['delivery', id, 'became'],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/inbox/{id}/changes', { params: { path: { id } }, signal })),
  })

export const exchangeQuery = (id: string) =>
  queryOptions({
    queryKey: ['outbox', 'exchange', id],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/outbox/{id}/exchange', { params: { path: { id } }, signal })),
  })

export const processesQuery = queryOptions({
  queryKey: ['processes'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/processes', { signal })),
  refetchInterval: every.while,
})

export const interfaceDriftQuery = queryOptions({
  queryKey: ['interface-drift'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/interface-drift', { signal })),
})

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/settings', { signal })),
})

export const actionsQuery = () =>
  infiniteQueryOptions({
    queryKey: ['actions'],
    queryFn: ({ signal, pageParam: cursor }) =>
      answered(api.GET('/api/v1/actions', { params: { query: { limit: 20, ...(cursor && { cursor }) } }, signal })),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next,
    refetchInterval: every.while,
    placeholderData: keepPreviousData,
  })

export const unmappedQuery = (name: string, query: { limit: number; search?: string; account?: string }) =>
  infiniteQueryOptions({
    queryKey: ['outbox', 'unmapped', name, query],
    queryFn: ({ signal, pageParam: cursor }) => {
      const params = { path: { name }, query: { ...query, ...(cursor && { cursor }) } }
      return answered(api.GET('/api/v1/destinations/{name}/unmapped', { params, signal }))
    },
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: every.while,
    placeholderData: keepPreviousData,
  })

/** A row whole, as it is: asked for only when somebody wants to see it, which is noted. */
export const rowQuery = (table: string, key: string) =>
  queryOptions({
    queryKey: ['row', table, key],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/rows/{table}/{key}', { params: { path: { table: table as Table, key } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
  })

type Table = 'submissions'
