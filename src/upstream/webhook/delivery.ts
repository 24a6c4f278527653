import { parseExact } from '../../model/exact-json.ts'
import { isObject } from '../../model/json.ts'
import type { MarketEvent, ThreadMessage } from '../../model/records.ts'
import { parseUuid } from '../../model/uuid.ts'
import { readEvent, readMessage } from '../wire/wire.ts'

/** `type` of a delivery that `doctor` sends through the public URL: it is stored and settled like any other, and nothing is done over it. */
export const SELF_DELIVERY_TYPE = 'submission_mirror.self_delivery'

/** What could be read of a delivery's body (spec, Events, Webhooks). */
export interface Delivery {
  /** The body's `type`, as given; null when there is none. */
  readonly type: string | null
  /** The message of a `submission.message` delivery. */
  readonly message: { readonly submissionId: string; readonly message: ThreadMessage } | null
  /** Whole, valid market events that are clearly of one submission. */
  readonly events: readonly { readonly submissionId: string; readonly event: MarketEvent }[]
  /** Every uuid that stands under a key named `submission_id`. */
  readonly submissionIds: readonly string[]
  /** Every other uuid in the body: one of them may be a submission that is known. */
  readonly otherIds: readonly string[]
  /** Whether the body was JSON at all. */
  readonly isJson: boolean
}

/** A body is searched this deep and for so many values; one that is larger is read by its feeds instead. */
const MAX_DEPTH = 8
const MAX_VALUES = 300_000

/**
 * Reads a delivery. The payload of `submission.events` is not shown by the spec, so whole events are taken wherever they
 * stand (`events`, `event`, `data` …), each for the `submission_id` nearest around it (trap 25). It never throws.
 */
export function readDelivery(body: Buffer): Delivery {
  const json = parse(body)
  const search: Search = { events: [], submissionIds: new Set(), otherIds: new Set(), values: 0 }
  const type = isObject(json) && typeof json['type'] === 'string' ? json['type'] : null
  const message = type === 'submission.message' && isObject(json) ? messageOf(json) : null
  if (json !== undefined && message === null) look(json, null, 0, search)
  return {
    type,
    message,
    events: search.events,
    submissionIds: message ? [message.submissionId] : [...search.submissionIds],
    otherIds: [...search.otherIds].filter((id) => !search.submissionIds.has(id)),
    isJson: json !== undefined,
  }
}

interface Search {
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

function look(value: unknown, around: string | null, depth: number, search: Search): void {
  if (depth > MAX_DEPTH || ++search.values > MAX_VALUES) return
  if (Array.isArray(value)) {
    for (const item of value) look(item, around, depth + 1, search)
    return
  }
  if (!isObject(value)) {
    const id = parseUuid(value)
    if (id !== null) search.otherIds.add(id)
    return
  }
  const own = parseUuid(value['submission_id'])
  if (own !== null) search.submissionIds.add(own)
  const submissionId = own ?? around
  const event = isWholeEvent(value) ? readEvent(value) : null
  if (event !== null && submissionId !== null) search.events.push({ submissionId, event })
  for (const [key, item] of Object.entries(value)) {
    if (key !== 'submission_id' || own === null) look(item, submissionId, depth + 1, search)
  }
}

/** The envelope of a delivery may have an id, a type and a time too; only an event has a market with a name. */
function isWholeEvent(value: Record<string, unknown>): boolean {
  return isObject(value['market']) && typeof value['market']['name'] === 'string'
}

/** A byte order mark before the JSON is no part of it, as in answers (RFC 8259, section 8.1). */
function parse(body: Buffer): unknown {
  try {
    return parseExact(body.toString('utf8').replace(/^\ufeff/, ''))
  } catch {
    return undefined
  }
}
