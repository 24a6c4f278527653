import { type InfiniteData, infiniteQueryOptions, queryOptions, type UseQueryOptions } from '@tanstack/react-query'
import { type ApiResponse, api, unwrap } from './client.ts'
import type { paths } from './schema.d.ts'

/** Intervals in ms at which data is fetched again. While the tab is hidden, no data is fetched. */
export const refetchMs = { live: 2_000, summary: 15_000, rarely: 60_000 } as const

type GetOperation<P extends keyof paths> = paths[P] extends { get: infer G } ? G : never
type Answer<P extends keyof paths> =
  GetOperation<P> extends { responses: { 200: { content: { 'application/json': infer A } } } } ? A : never
type Part<P extends keyof paths, K extends 'path' | 'query'> =
  GetOperation<P> extends { parameters: { [_ in K]?: infer Q } } ? NonNullable<Q> : never
/** Type of a path's query parameters, without `cursor`. */
export type Filter<P extends keyof paths> = { readonly [K in Exclude<keyof Part<P, 'query'>, 'cursor'>]?: Part<P, 'query'>[K] | undefined }

interface Params<P extends keyof paths> {
  readonly path?: Part<P, 'path'>
  readonly query?: Filter<P>
}

type Key<P extends keyof paths> = readonly [P, Params<P>]
type Options<P extends keyof paths> = Omit<UseQueryOptions<Answer<P>, Error, Answer<P>, Key<P>>, 'queryKey' | 'queryFn'>

function get<P extends keyof paths>(path: P, params: object, signal: AbortSignal): Promise<Answer<P>> {
  // This cast is safe, because the types of `read` and `readPages` already check `params`.
  const call = api.GET as (path: P, init: object) => Promise<ApiResponse<Answer<P>>>
  return unwrap(call(path, { params, signal }))
}

/** Options for `useQuery` to fetch a path. The cache key is the path with its parameters. */
export function read<P extends keyof paths>(path: P, params: Params<P> = {}, options: Options<P> = {}) {
  const queryKey: Key<P> = [path, params]
  return queryOptions({ queryKey, queryFn: ({ signal }) => get(path, params, signal), ...options })
}

type Paged = { [P in keyof paths]: Answer<P> extends { next_cursor: string | null } ? P : never }[keyof paths]

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

const hasItems = (pages: readonly unknown[] = []) => pages.some((page) => (page as { readonly items: readonly unknown[] }).items.length > 0)

/**
 * Options for `useInfiniteQuery` to fetch a list page by page. After the user changes a filter, the previous rows stay
 * until the new rows arrive. If the previous list was empty, the page shows that it is loading.
 */
export function readPages<P extends Paged>(path: P, params: Params<P> = {}) {
  const queryKey: Key<P> = [path, params]
  return infiniteQueryOptions<Answer<P>, Error, InfiniteData<Answer<P>>, Key<P>, string>({
    queryKey,
    queryFn: ({ signal, pageParam: cursor }) => get(path, { ...params, query: { ...params.query, ...(cursor && { cursor }) } }, signal),
    initialPageParam: '',
    getNextPageParam: (page) => (page as { readonly next_cursor: string | null }).next_cursor,
    refetchInterval: refetchMs.live,
    placeholderData: (before, query) => (isSame(query?.queryKey[1].path, params.path) && hasItems(before?.pages) ? before : undefined),
  })
}
