import { queryOptions } from '@tanstack/react-query'
import { answered, api, Refusal } from './client.ts'

/** How often is asked for what may change by itself. */
export const every = { moment: 5_000, while: 15_000, seldom: 60_000 } as const

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

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: ({ signal }) => answered(api.GET('/api/v1/overview', { signal })),
  refetchInterval: every.moment,
})
