import { z } from 'zod'
import { parseExact } from '../../model/exact-json.ts'
import { isObject } from '../../model/json.ts'
import type { MarketEvent, ThreadMessage } from '../../model/records.ts'
import { parseUuid } from '../../model/uuid.ts'
import { readEvent, readMessage } from '../wire/feeds.ts'

/**
 * `type` of a delivery that `doctor` sends through the public URL. The delivery is stored like any other, but
 * has no effect.
 */
export const SELF_DELIVERY_TYPE = 'submission_mirror.self_delivery'
/** Start of the ids of self deliveries. */
export const SELF_DELIVERY_PREFIX = 'doctor_'
/** Header of the answer to a self delivery. Contains an `Arrival` as JSON. */
export const ARRIVAL_HEADER = 'submission-mirror-arrival'

/** How a self delivery reached the receiver. */
export const arrival = z.object({
  /** Address of the connected client or proxy. */
  peer: z.string(),
  /** The address that counts as the sender: the peer, or the client that a trusted proxy names. */
  sender: z.string(),
  /** Whether the request had the header `X-Forwarded-For`. */
  is_forwarded: z.boolean(),
})
export type Arrival = z.output<typeof arrival>

/** A parsed delivery body (specification: Events, Webhooks). */
export interface Delivery {
  /** The body's `type`; null if the body has none. */
  readonly type: string | null
  /** Set for a `submission.message` delivery that matches the specification; otherwise null. */
  readonly message: { readonly submissionId: string; readonly message: ThreadMessage } | null
  /** Market events found in the body, each with the id of the nearest enclosing `submission_id`. */
  readonly events: readonly { readonly submissionId: string; readonly event: MarketEvent }[]
  /** Every UUID in a field `submission_id`. If `message` is set, only the message's submission. */
  readonly submissionIds: readonly string[]
  /** Every other UUID in the body; none if `message` is set. Some may be ids of known submissions. */
  readonly otherIds: readonly string[]
  /** The parsed body; undefined if the body isn't JSON. */
  readonly json: unknown
  readonly isJson: boolean
}

/** Limits of the search for events and ids. Reading the feeds finds what the search misses. */
const MAX_DEPTH = 8
const MAX_VALUES = 300_000

/**
 * Parses a delivery body. Never throws. The specification doesn't define `submission.events`, so events are searched
 * for in the whole body. An event belongs to the nearest enclosing `submission_id` (trap 25).
 */
export function readDelivery(body: Buffer): Delivery {
  const json = parse(body)
  const found: Found = { events: [], submissionIds: new Set(), otherIds: new Set(), values: 0 }
  const type = isObject(json) && typeof json['type'] === 'string' ? json['type'] : null
  const message = type === 'submission.message' && isObject(json) ? messageOf(json) : null
  if (json !== undefined && message === null) search(json, null, 0, found)
  return {
    type,
    message,
    events: found.events,
    submissionIds: message ? [message.submissionId] : [...found.submissionIds],
    otherIds: [...found.otherIds].filter((id) => !found.submissionIds.has(id)),
    json,
    isJson: json !== undefined,
  }
}

interface Found {
  readonly events: { submissionId: string; event: MarketEvent }[]
  readonly submissionIds: Set<string>
  readonly otherIds: Set<string>
  values: number
}

function messageOf(json: Record<string, unknown>): Delivery['message'] {
  const submissionId = parseUuid(json['submission_id'])
  const message = readMessage(json['message'])
  return submissionId !== null && message !== null ? { submissionId, message } : null
}

function search(value: unknown, around: string | null, depth: number, found: Found): void {
  if (depth > MAX_DEPTH || ++found.values > MAX_VALUES) return
  if (Array.isArray(value)) {
    for (const item of value) search(item, around, depth + 1, found)
    return
  }
  if (!isObject(value)) {
    const id = parseUuid(value)
    if (id !== null) found.otherIds.add(id)
    return
  }
  const own = parseUuid(value['submission_id'])
  if (own !== null) found.submissionIds.add(own)
  const submissionId = own ?? around
  const event = isWholeEvent(value) ? readEvent(value) : null
  if (event !== null && submissionId !== null) found.events.push({ submissionId, event })
  for (const [key, item] of Object.entries(value)) {
    if (key !== 'submission_id' || own === null) search(item, submissionId, depth + 1, found)
  }
}

/**
 * @returns whether an object is a market event. An object around an event may also have an id, a type, and a time, but
 * no market with a name.
 */
function isWholeEvent(value: Record<string, unknown>): boolean {
  return isObject(value['market']) && typeof value['market']['name'] === 'string'
}

/** @returns the parsed JSON; undefined if the body isn't JSON. Ignores a byte order mark (RFC 8259, section 8.1). */
function parse(body: Buffer): unknown {
  try {
    return parseExact(body.toString('utf8').replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
}
