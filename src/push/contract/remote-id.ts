import { type Json, storableText } from '../../model/json.ts'

/** A record's id at the target, or a remark why none is kept. Both null: the target gave none. */
export interface RemoteId {
  readonly id: string | null
  readonly remark: string | null
}

const MAX_LENGTH = 512
const NONE: RemoteId = { id: null, remark: null }

/**
 * Keeps an id completely or not at all: a part of it, or a rounded number, would be the id of another record.
 * @param value only text and numbers are ids.
 */
export function remoteIdOf(value: Json): RemoteId {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? none('it is a number that was rounded') : kept(String(value))
  return typeof value === 'string' && value !== '' ? kept(value) : NONE
}

/** @returns that no id is kept. @param why a phrase. */
export function none(why: string): RemoteId {
  return { id: null, remark: `no id is kept: ${why}` }
}

function kept(id: string): RemoteId {
  if (id.length > MAX_LENGTH) return none(`it is longer than ${MAX_LENGTH} characters`)
  return storableText(id) === id ? { id, remark: null } : none('it holds characters that cannot be stored')
}
