import { hash } from 'node:crypto'
import type { Json } from '../../model/json.ts'

/** Names our ids among all UUIDs of version 5. Never changed: receivers tell a repetition by the id. */
const NAMESPACE = Buffer.from('da38f491c21b49f6a85ffedceedc78ab', 'hex')

/** Records that exist once, for ever (invariant 4): that there is one has the same id whichever log or snapshot says it. */
export const IMMUTABLE: ReadonlySet<string> = new Set(['market_events', 'thread_messages'])

/** What a message is about. */
export interface MessageSubject {
  readonly account: string
  readonly entity: string
  /** The key after `account`, as JSON array text. */
  readonly entityId: string
  /** Of a row of a snapshot it is `insert`. */
  readonly operation: string
  readonly seq: number
  readonly snapshot: boolean
}

/**
 * The id of a message: the same for every destination, on every try, and when a change is fanned out again. What happens to a record later
 * may happen to it again, and say the same: a label that changes there and back, a mark that comes and goes. A receiver that keeps ids would
 * drop the last of these and stay behind, so each of them has the id of its place in the log, as state has.
 * @param logEpoch the numbering that `seq` is of.
 */
export function messageId({ account, entity, entityId, operation, seq, snapshot }: MessageSubject, logEpoch: string): string {
  if (IMMUTABLE.has(entity) && operation === 'insert') return uuid5([account, entity, entityId, 'insert'])
  return uuid5(snapshot ? [logEpoch, 'snapshot', seq, entity, entityId] : [logEpoch, seq])
}

/** A UUID of version 5 (RFC 9562) for a list of values. */
function uuid5(name: Json): string {
  const digest = hash('sha1', Buffer.concat([NAMESPACE, Buffer.from(JSON.stringify(name))]), 'buffer')
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80
  const hex = digest.toString('hex', 0, 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
