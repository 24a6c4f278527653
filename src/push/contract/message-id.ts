import { hash } from 'node:crypto'
import type { Json } from '../../model/json.ts'

/**
 * Namespace of this program's version 5 UUIDs. Never change the namespace, because receivers recognize
 * duplicates by these ids.
 */
const NAMESPACE = Buffer.from('da38f491c21b49f6a85ffedceedc78ab', 'hex')

/**
 * Entities whose records are inserted once by id (invariant 4). Their inserts have the same message id in every log
 * epoch and every snapshot.
 */
export const IMMUTABLE: ReadonlySet<string> = new Set(['market_events', 'thread_messages'])

export interface MessageSubject {
  readonly account: string
  readonly entity: string
  /** Key of the record without `account`, as the text of a JSON array. */
  readonly entityId: string
  /**
   * `insert` for rows of a snapshot. `update` if a record is sent again after a restore, or because the record passes
   * the `filter` again.
   */
  readonly operation: string
  readonly seq: number
  readonly snapshot: boolean
}

/**
 * @returns a message's id: the same for every destination, attempt, and repeated fan-out. The id of an `IMMUTABLE`
 * insert comes from the record's key. Other ids come from the log epoch and `seq`. Ids from values would repeat if a
 * later change restored earlier values.
 * @param logEpoch epoch of `seq`.
 */
export function messageId({ account, entity, entityId, operation, seq, snapshot }: MessageSubject, logEpoch: string): string {
  if (IMMUTABLE.has(entity) && operation === 'insert') return uuid5([account, entity, entityId, 'insert'])
  return uuid5(snapshot ? [logEpoch, 'snapshot', seq, account, entity, entityId] : [logEpoch, seq])
}

/**
 * @returns a new id for a message that is sent again.
 * @param generation id of the resend, the same for all its messages.
 */
export function renewedMessageId(id: string, generation: string): string {
  return uuid5(['resent', generation, id])
}

/** @returns a version 5 UUID (RFC 9562) of a list of values. */
function uuid5(name: Json): string {
  const digest = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(JSON.stringify(name))]), 'buffer')
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80
  const hex = digest.toString('hex', 0, 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
