/* Possible names of shapes that the spec does not show, the likeliest first. The sandbox's variants use the same choices. */

/** Possible names of the quote-session list in an object. */
export const sessionLists = ['sessions', 'items', 'data', 'results'] as const

/** By `table.column`: further fields that may contain the value. */
export const otherNames: ReadonlyMap<string, readonly string[]> = new Map([['carrier_api_sessions.session_id', ['id']]])

/** Maps a list's name to the id field of its records. That field may also be `id`. */
export const recordLists: ReadonlyMap<string, string> = new Map([
  ['submissions', 'submission_id'],
  ['policies', 'policy_id'],
  ['bind_requests', 'bind_request_id'],
])
