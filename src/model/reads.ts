/** The reads of a submission: two feeds, state reads, and reads by an id that an answer contains. */
export type ReadKind = Feed | StateRead
/** Reads of a feed, page by page. */
export const feeds = ['events', 'thread'] as const
export type Feed = (typeof feeds)[number]
/**
 * State reads in addition to the requirements view. They run after the other reads, and less often. A rejected read
 * doesn't mean that the submission is gone, because not every service offers these reads.
 */
export const detailReads = ['outstanding', 'workspace', 'sessions'] as const
export type DetailRead = (typeof detailReads)[number]
/** State reads that every submission has. */
export const stateReads = ['requirements', ...detailReads] as const
/** Reads of objects that have their own id. Each known id is read separately (see `KnownId`). */
export const idReads = ['bind_request', 'policy', 'insured'] as const
export type IdRead = (typeof idReads)[number]
/** A read that every submission has, with its own row in `sync_reads`. */
export type OwnRead = Feed | OwnStateRead
/** A state read that every submission has. */
export type OwnStateRead = (typeof stateReads)[number]
export type StateRead = OwnStateRead | IdRead
/** Reads that decide whether a submission is up to date. */
export const mainReads = [...feeds, 'requirements'] as const
/** Reads that the setting `STATE_READS`, or the service, may turn off. */
export const optionalReads = [...detailReads, ...idReads] as const
export type OptionalRead = (typeof optionalReads)[number]
export const readKinds = [...feeds, ...stateReads] as const

/**
 * After this many consecutive 404s, some minutes apart, a submission or an object counts as gone. A smaller number of
 * 404s may be a temporary fault of the service.
 */
export const NOT_FOUND_TO_CONFIRM = 3

export function isFeed(read: ReadKind): read is Feed {
  return (feeds as readonly ReadKind[]).includes(read)
}

export function isDetail(read: ReadKind): read is DetailRead {
  return (detailReads as readonly ReadKind[]).includes(read)
}

export function isIdRead(read: ReadKind): read is IdRead {
  return (idReads as readonly ReadKind[]).includes(read)
}
