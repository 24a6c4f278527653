import { z } from 'zod'
import { parseExact } from '../../model/exact-json.ts'
import { isObject } from '../../model/json.ts'
import type { MarketEvent, ThreadMessage } from '../../model/records.ts'
import { parseUuid } from '../../model/uuid.ts'
import { readEvent, readMessage } from '../wire/feeds.ts'

/** `type` of a delivery that `doctor` sends through the public URL. It is stored and settled like any other, and has no effect. */
export const SELF_DELIVERY_TYPE = 'submission_mirror.self_delivery'
/** How the id of such a delivery begins. */
export const SELF_DELIVERY_PREFIX = 'doctor_'
/** The header of the receiver's answer to a self delivery that it stored: `Arrival` as JSON. */
export const ARRIVAL_HEADER = 'submission-mirror-arrival'

/** How a self delivery came to the receiver. */
export const arrival = z.object({
  /** Who connected: the proxy, where there is one. */
  peer: z.string(),
  /** Whom it counts for: the sender that a trusted proxy named, else the peer. */
  sender: z.string(),
  /** Whether it had an `X-Forwarded-For`. */
  is_forwarded: z.boolean(),
})
export type Arrival = z.output<typeof arrival>

/** A parsed delivery body (spec, Events, Webhooks). */
export interface Delivery {
  /** The body's `type`, as given; null when there is none. */
  readonly type: string | null
  /** The message of a `submission.message` delivery. */
  readonly message: { readonly submissionId: string; readonly message: ThreadMessage } | null
  /** Whole, valid market events whose submission is clear. */
  readonly events: readonly { readonly submissionId: string; readonly event: MarketEvent }[]
  /** Every uuid under a key `submission_id`. */
  readonly submissionIds: readonly string[]
  /** Every other uuid in the body, which may be a known submission. */
  readonly otherIds: readonly string[]
  /** The body as it was parsed; undefined when it is not JSON. */
  readonly json: unknown
  /** Whether the body was JSON at all. */
  readonly isJson: boolean
}

/** Limits of the search in a body. What lies beyond is read from the feeds instead. */
const MAX_DEPTH = 8
const MAX_VALUES = 300_000

/**
 * Parses a delivery body. The spec does not show the payload of `submission.events`, so whole events are taken wherever they are (`events`,
 * `event`, `data` …), each for the nearest enclosing `submission_id` (trap 25). Never throws.
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

/** A delivery's envelope may have an id, a type and a time too. Only an event has a market with a name. */
function isWholeEvent(value: Record<string, unknown>): boolean {
  return isObject(value['market']) && typeof value['market']['name'] === 'string'
}

/** A byte order mark before the JSON is ignored, as in answers (RFC 8259, section 8.1). */
function parse(body: Buffer): unknown {
  try {
    return parseExact(body.toString('utf8').replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
}
