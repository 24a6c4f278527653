/* Possible names of shapes that the spec does not show, the likeliest first. The sandbox's variants use the same choices. */

/** The list of quote sessions, if the answer is an object. */
export const sessionLists = ['sessions', 'items', 'data', 'results'] as const

/** By `table.column`: further fields that may contain the value. */
export const otherNames: ReadonlyMap<string, readonly string[]> = new Map([['carrier_api_sessions.session_id', ['id']]])

/** Lists of records of one kind, with the field of their id, which may also be `id`. */
export const recordLists: ReadonlyMap<string, string> = new Map([
  ['submissions', 'submission_id'],
  ['policies', 'policy_id'],
  ['bind_requests', 'bind_request_id'],
])
