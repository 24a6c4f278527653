/** The reads of a submission: two feeds, and state reads. */
export type ReadKind = 'events' | 'thread' | 'requirements'
/** Reads of a feed, in pages. */
export const feeds = ['events', 'thread'] as const satisfies readonly ReadKind[]
export type Feed = (typeof feeds)[number]
/** Reads of the present state. */
export type StateRead = Exclude<ReadKind, Feed>
export const stateReads = ['requirements'] as const satisfies readonly StateRead[]
export const readKinds = ['events', 'thread', 'requirements'] as const satisfies readonly ReadKind[]

export function isFeed(read: ReadKind): read is Feed {
  return (feeds as readonly ReadKind[]).includes(read)
}
