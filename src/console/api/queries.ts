import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { answered, api, Refusal } from './client.ts'
import type { paths } from './schema.d.ts'

/** How often is asked for what may change by itself; events tell of most of it sooner. */
export const every = { moment: 5_000, while: 15_000, seldom: 60_000 } as const

type Get<P extends keyof paths> = paths[P] extends { get: { parameters: { query?: infer Q } } } ? NonNullable<Q> : never

/** Who is signed in; null when nobody is. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }) => {
    try {
      return await answered(api.GET('/api/v1/session', { signal }))
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) return null
      throw error
    }
  },
  staleTime: every.seldom,
  refetchInterval: every.seldom,
})

/** How one may sign in. */
export const methodsQuery = queryOptions({
  queryKey: ['methods'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/session/methods', { signal })),
  staleTime: every.seldom,
})

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/overview', { signal })),
  refetchInterval: every.moment,
})

/** @param limit how many of the newest. */
export const foundQuery = (limit: number) =>
  queryOptions({
    queryKey: ['found', limit],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/found-without-webhook', { params: { query: { limit } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: every.while,
  })

export const completenessQuery = queryOptions({
  queryKey: ['completeness'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/completeness', { signal })),
  refetchInterval: every.seldom,
})

export const windows = ['1h', '24h', '7d', '30d'] as const
export type Window = (typeof windows)[number]

export const historyQuery = (window: Window) =>
  queryOptions({
    queryKey: ['history', window],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/history', { params: { query: { window } }, signal })),
    refetchInterval: every.while,
    placeholderData: keepPreviousData,
  })

export const submissionsQuery = (query: Omit<Get<'/api/v1/submissions'>, 'cursor'>) =>
  infiniteQueryOptions({
    queryKey: ['submissions', query],
    queryFn: ({ signal, pageParam: cursor }) =>
      answered(api.GET('/api/v1/submissions', { params: { query: { ...query, ...(cursor && { cursor }) } }, signal })),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: every.while,
    placeholderData: keepPreviousData,
  })

export const submissionQuery = (account: string, submission_id: string) =>
  queryOptions({
    queryKey: ['submission', account, submission_id],
    queryFn: ({ signal }) =>
      answered(api.GET('/api/v1/submissions/{account}/{submission_id}', { params: { path: { account, submission_id } }, signal })),
    refetchInterval: every.while,
  })

type Kinds = NonNullable<Get<'/api/v1/submissions/{account}/{submission_id}/timeline'>['kinds']>

export const timelineQuery = (account: string, submission_id: string, kinds: Kinds) =>
  infiniteQueryOptions({
    queryKey: ['timeline', account, submission_id, kinds],
    queryFn: ({ signal, pageParam: cursor }) => {
      const query = { limit: 50, kinds, ...(cursor && { cursor }) }
      const path = { account, submission_id }
      return answered(api.GET('/api/v1/submissions/{account}/{submission_id}/timeline', { params: { path, query }, signal }))
    },
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: every.while,
    placeholderData: keepPreviousData,
  })

export const searchQuery = (q: string) =>
  queryOptions({
    queryKey: ['search', q],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/search', { params: { query: { q } }, signal })),
    placeholderData: keepPreviousData,
  })

export const deliveriesQuery = (query: Omit<Get<'/api/v1/inbox'>, 'cursor'>) =>
  infiniteQueryOptions({
    queryKey: ['deliveries', query],
    queryFn: ({ signal, pageParam: cursor }) =>
      answered(api.GET('/api/v1/inbox', { params: { query: { ...query, ...(cursor && { cursor }) } }, signal })),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: every.moment,
    placeholderData: keepPreviousData,
  })

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ['delivery', id],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/inbox/{id}', { params: { path: { id } }, signal })),
  })

export const rejectedQuery = (account?: string) =>
  infiniteQueryOptions({
    queryKey: ['deliveries', 'rejected', account],
    queryFn: ({ signal, pageParam: cursor }) =>
      answered(api.GET('/api/v1/rejected', { params: { query: { ...(account && { account }), ...(cursor && { cursor }) } }, signal })),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: every.while,
  })

export const rejectedOneQuery = (id: string) =>
  queryOptions({
    queryKey: ['delivery', 'rejected', id],
    queryFn: ({ signal }) => answered(api.GET('/api/v1/rejected/{id}', { params: { path: { id } }, signal })),
  })

export const destinationsQuery = queryOptions({
  queryKey: ['destinations'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/destinations', { signal })),
  refetchInterval: every.moment,
})

export const outboxQuery = (query: Omit<Get<'/api/v1/outbox'>, 'cursor'>) =>
  infiniteQueryOptions({
    queryKey: ['outbox', query],
    queryFn: ({ signal, pageParam: cursor }) =>
      answered(api.GET('/api/v1/outbox', { params: { query: { ...query, ...(cursor && { cursor }) } }, signal })),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    refetchInterval: every.while,
    placeholderData: keepPreviousData,
  })
