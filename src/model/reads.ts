/** The reads of a submission: two feeds, state reads, and reads by an id that its answers name. */
export type ReadKind = Feed | StateRead
/** Reads of a feed, in pages. */
export const feeds = ['events', 'thread'] as const
export type Feed = (typeof feeds)[number]
/**
 * State reads besides the requirements view. They run last and less often. A rejection says nothing about the submission, because not every
 * service offers them.
 */
export const detailReads = ['outstanding', 'workspace', 'sessions'] as const
export type DetailRead = (typeof detailReads)[number]
/** Reads of current state that every submission has. */
export const stateReads = ['requirements', ...detailReads] as const
/** Reads of objects with their own id, once per known id (see `KnownId`). */
export const idReads = ['bind_request', 'policy', 'insured'] as const
export type IdRead = (typeof idReads)[number]
/** A read that every submission has, with a row in `sync_reads`. */
export type OwnRead = Feed | OwnStateRead
/** A state read that every submission has. */
export type OwnStateRead = (typeof stateReads)[number]
export type StateRead = OwnStateRead | IdRead
/** Reads that decide whether a submission is up to date. */
export const mainReads = [...feeds, 'requirements'] as const
/** Reads that `STATE_READS` or the service may turn off. */
export const optionalReads = [...detailReads, ...idReads] as const
export type OptionalRead = (typeof optionalReads)[number]
export const readKinds = [...feeds, ...stateReads] as const

/** After this many consecutive 404s, some minutes apart, a 404 counts as gone. A fault of the service may last that long. */
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
