import { type InfiniteData, infiniteQueryOptions, queryOptions, type UseQueryOptions } from '@tanstack/react-query'
import { answered, api, type Called } from './client.ts'
import type { paths } from './schema.d.ts'

/** How often is asked for what may change by itself; events tell of most of it sooner. */
export const every = { moment: 5_000, while: 15_000, seldom: 60_000 } as const

type Got<P extends keyof paths> = paths[P] extends { get: infer G } ? G : never
/** What a path answers. */
type Answer<P extends keyof paths> = Got<P> extends { responses: { 200: { content: { 'application/json': infer A } } } } ? A : never
type Part<P extends keyof paths, K extends 'path' | 'query'> =
  Got<P> extends { parameters: { [_ in K]?: infer Q } } ? NonNullable<Q> : never
/** The filters of a path; the cursor is taken from the page before. */
export type Filter<P extends keyof paths> = { readonly [K in Exclude<keyof Part<P, 'query'>, 'cursor'>]?: Part<P, 'query'>[K] | undefined }

interface Params<P extends keyof paths> {
  readonly path?: Part<P, 'path'>
  readonly query?: Filter<P>
}

type Key<P extends keyof paths> = readonly [P, Params<P>]
type Options<P extends keyof paths> = Omit<UseQueryOptions<Answer<P>, Error, Answer<P>, Key<P>>, 'queryKey' | 'queryFn'>

function get<P extends keyof paths>(path: P, params: object, signal: AbortSignal): Promise<Answer<P>> {
  // Which parameters fit which path is checked by those who call.
  const call = api.GET as (path: P, init: object) => Promise<Called<Answer<P>>>
  return answered(call(path, { params, signal }))
}

/** What a path answers, known by the path and its parameters. */
export function read<P extends keyof paths>(path: P, params: Params<P> = {}, options: Options<P> = {}) {
  const queryKey: Key<P> = [path, params]
  return queryOptions({ queryKey, queryFn: ({ signal }) => get(path, params, signal), ...options })
}

type Paged = { [P in keyof paths]: Answer<P> extends { next_cursor: string | null } ? P : never }[keyof paths]

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

const hasItems = (pages: readonly unknown[] = []) => pages.some((page) => (page as { readonly items: readonly unknown[] }).items.length > 0)

/**
 * A list, page after page; it stays while the same list is asked for by another filter. An empty one does not: that nothing fits the filter
 * before says nothing of this one.
 */
export function readPages<P extends Paged>(path: P, params: Params<P> = {}, refetchInterval: number = every.while) {
  const queryKey: Key<P> = [path, params]
  return infiniteQueryOptions<Answer<P>, Error, InfiniteData<Answer<P>>, Key<P>, string>({
    queryKey,
    queryFn: ({ signal, pageParam: cursor }) => get(path, { ...params, query: { ...params.query, ...(cursor && { cursor }) } }, signal),
    initialPageParam: '',
    getNextPageParam: (page) => (page as { readonly next_cursor: string | null }).next_cursor,
    refetchInterval,
    placeholderData: (before, query) => (isSame(query?.queryKey[1].path, params.path) && hasItems(before?.pages) ? before : undefined),
  })
}
