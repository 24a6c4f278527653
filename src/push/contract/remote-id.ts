import { type Json, storableText } from '../../model/json.ts'

/** What is kept of a target's id of a record; or why none is kept, in a sentence without its end. Both null: there was none. */
export interface RemoteId {
  readonly id: string | null
  readonly remark: string | null
}

const MAX_LENGTH = 512
const NONE: RemoteId = { id: null, remark: null }

/**
 * An id is kept as it is or not at all: a part of it, or a number that was rounded, would be the id of another record.
 * @param value what is said to be the id; only text and numbers are one.
 */
export function remoteIdOf(value: Json): RemoteId {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? none('it is a number that was rounded') : kept(String(value))
  return typeof value === 'string' && value !== '' ? kept(value) : NONE
}

/** @returns that no id is kept, and why. */
export function none(why: string): RemoteId {
  return { id: null, remark: `no id is kept: ${why}` }
}

function kept(id: string): RemoteId {
  if (id.length > MAX_LENGTH) return none(`it is longer than ${MAX_LENGTH} characters`)
  return storableText(id) === id ? { id, remark: null } : none('it holds characters that cannot be stored')
}
