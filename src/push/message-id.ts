import { createHash } from 'node:crypto'
import type { Row } from '../model/entities.ts'
import { canonicalJson, type Json } from '../model/json.ts'

/** Names our ids among all UUIDs of version 5. Never changed: receivers tell a repetition by the id. */
const NAMESPACE = Buffer.from('da38f491c21b49f6a85ffedceedc78ab', 'hex')

/** Records that exist once, for ever (invariant 4): what is said of them has the same id whichever log or snapshot says it. */
export const IMMUTABLE: ReadonlySet<string> = new Set(['market_events', 'thread_messages'])

/** What a message is about. */
export interface MessageSubject {
  readonly account: string
  readonly entity: string
  /** The key after `account`, as JSON array text. */
  readonly entityId: string
  readonly operation: string
  readonly seq: number
  /** The changed columns; of no importance for an insert. */
  readonly after: Row | null
  readonly snapshot: boolean
}

/**
 * The id of a message: the same for every destination, on every try, and when a change is fanned out again.
 * @param logEpoch the numbering that `seq` is of.
 */
export function messageId(subject: MessageSubject, logEpoch: string): string {
  const { account, entity, entityId, operation, seq, after, snapshot } = subject
  if (IMMUTABLE.has(entity) && !isOfMark(subject)) {
    const record = [account, entity, entityId, operation]
    return uuid5(snapshot || operation === 'insert' ? [account, entity, entityId, 'insert'] : [...record, canonicalJson(after)])
  }
  return uuid5(snapshot ? [logEpoch, 'snapshot', seq, entity, entityId] : [logEpoch, seq])
}

/** The mark that a record is no longer shown comes and goes: that it went a second time is another message, though it says the same. */
function isOfMark({ operation, after }: MessageSubject): boolean {
  return operation !== 'insert' && after !== null && 'gone_at' in after
}

/** A UUID of version 5 (RFC 9562) for a list of values. */
function uuid5(name: Json): string {
  const hash = createHash('sha1').update(NAMESPACE).update(JSON.stringify(name)).digest()
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  const hex = hash.toString('hex', 0, 16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
