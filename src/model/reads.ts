/** The reads of a submission: two feeds, and state reads. */
export type ReadKind = Feed | StateRead
/** Reads of a feed, in pages. */
export const feeds = ['events', 'thread'] as const
export type Feed = (typeof feeds)[number]
/**
 * State reads beside the requirements view. Not every service has them for every submission, so a refusal says nothing about the submission;
 * they come more rarely, and after everything else.
 */
export const detailReads = ['outstanding', 'workspace', 'sessions'] as const
export type DetailRead = (typeof detailReads)[number]
/** Reads of the present state. */
export const stateReads = ['requirements', ...detailReads] as const
export type StateRead = (typeof stateReads)[number]
/** Reads by which a submission is known to be up to date. */
export const mainReads = [...feeds, 'requirements'] as const
export const readKinds = [...feeds, ...stateReads] as const

export function isFeed(read: ReadKind): read is Feed {
  return (feeds as readonly ReadKind[]).includes(read)
}

export function isDetail(read: ReadKind): read is DetailRead {
  return (detailReads as readonly ReadKind[]).includes(read)
}
