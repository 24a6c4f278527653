/*
 * Possible names of fields that the specification doesn't show, the likeliest first. The sandbox's variants use
 * the same names.
 */

/** Possible names of an object's list of quote sessions. */
export const sessionLists = ['sessions', 'items', 'data', 'results'] as const

/** Further fields that may contain a column's value, by `table.column`. */
export const otherNames: ReadonlyMap<string, readonly string[]> = new Map([['carrier_api_sessions.session_id', ['id']]])

/** For each list name, the id field of the list's records. That field may also be named `id`. */
export const recordLists: ReadonlyMap<string, string> = new Map([
  ['submissions', 'submission_id'],
  ['policies', 'policy_id'],
  ['bind_requests', 'bind_request_id'],
])
