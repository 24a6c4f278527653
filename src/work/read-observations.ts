import type { Observation, Origin } from '../model/observations.ts'
import { feeds } from '../model/reads.ts'
import type { Db } from '../store/engine/db.ts'
import { bodyPlace, type ClaimedDelivery, type Settlement } from '../store/inbox/work.ts'
import { knownSubmissions } from '../store/mirror/submissions.ts'
import { type Delivery, readDelivery, SELF_DELIVERY_TYPE } from '../upstream/webhook/delivery.ts'

/** Observations to apply for a delivery, and how to settle the delivery. */
export interface ReadDelivery {
  readonly observations: readonly Observation[]
  readonly settlement: Settlement
  /** Whether to read all active submissions of the account, because the delivery names no submission. */
  readonly sweep: boolean
  /** Whether a `submission.events` delivery has a readable event; `none` for other delivery types. */
  readonly events: 'readable' | 'unreadable' | 'none'
  /** The parsed body; undefined if the body isn't JSON. */
  readonly json: unknown
}

const fromWebhook = { via: 'webhook', cause: 'webhook', isFullRead: false, firstFeedRead: false } as const satisfies Origin

/**
 * Turns claimed deliveries into observations.
 * - A `submission.message` delivery that matches the specification gives the message, and a read
 *   request for the thread.
 * - Any other delivery gives its readable events, and read requests for both feeds of each submission that it names.
 * A delivery names a submission in a `submission_id` field. If no such field exists, every known submission id
 * in the body counts.
 */
export async function readDeliveries(db: Db, claimed: readonly ClaimedDelivery[]): Promise<ReadDelivery[]> {
  const read = claimed.map((delivery) => ({
    delivery,
    content: readDelivery(db.protection.revealBytes(delivery.body, bodyPlace(delivery))),
  }))
  const known = await knownAmong(db, read)
  return read.map(({ delivery, content }) => factsOf(delivery, content, known))
}

async function knownAmong(db: Db, read: readonly { delivery: ClaimedDelivery; content: Delivery }[]): Promise<ReadonlySet<string>> {
  const candidates = read.flatMap(({ delivery, content }) =>
    content.submissionIds.length > 0 ? [] : content.otherIds.map((id) => ({ account: delivery.account, submission_id: id })),
  )
  return candidates.length === 0 ? new Set() : knownSubmissions(db.read, candidates)
}

function factsOf(delivery: ClaimedDelivery, content: Delivery, known: ReadonlySet<string>): ReadDelivery {
  const { account } = delivery
  const { type: kind, message } = content
  const origin: Origin = delivery.settledAt === null ? fromWebhook : { ...fromWebhook, isReplayed: true }
  const none = { observations: [], sweep: false, events: 'none' as const, json: content.json }
  // `doctor` sends deliveries of this type, to check that deliveries arrive.
  if (kind === SELF_DELIVERY_TYPE)
    return { ...none, settlement: { delivery, state: 'done', submissionId: null, kind, error: null, isEmptied: true } }
  if (message !== null) {
    const { submissionId } = message
    const observations: Observation[] = [
      { kind: 'message', account, submissionId, message: message.message, ...origin },
      { kind: 'request', account, submissionId, cause: 'webhook', reads: ['thread'] },
    ]
    const what = message.message.message.kind ?? undefined
    return { ...none, observations, settlement: { delivery, state: 'done', submissionId, kind, error: null, ...(what && { what }) } }
  }
  const ids = content.submissionIds.length > 0 ? content.submissionIds : content.otherIds.filter((id) => known.has(`${account} ${id}`))
  const observations: Observation[] = content.events.map(({ submissionId, event }) => ({
    kind: 'event',
    account,
    submissionId,
    event,
    ...origin,
  }))
  for (const submissionId of ids) observations.push({ kind: 'request', account, submissionId, cause: 'webhook', reads: feeds })
  const error = asideReason(content, ids.length > 0)
  const what = eventsText(content.events)
  return {
    observations,
    settlement: {
      delivery,
      state: error === null ? 'done' : 'aside',
      submissionId: ids.length === 1 ? (ids[0] ?? null) : null,
      kind,
      error,
      ...(what !== null && { what }),
    },
    json: content.json,
    sweep: ids.length === 0,
    events: kind !== 'submission.events' ? 'none' : content.events.length > 0 ? 'readable' : 'unreadable',
  }
}

/** @returns e.g. `quote_received · Harborline · 2 more`; null if there is no event. */
function eventsText(events: Delivery['events']): string | null {
  const [first] = events
  if (first === undefined) return null
  const { type, market_name: market } = first.event
  const more = events.length === 1 ? null : `${events.length - 1} more`
  return [type, market, more]
    .filter((part) => part !== null)
    .join(' · ')
    .slice(0, WHAT_LENGTH)
}

const WHAT_LENGTH = 200
const UNNAMED = 'the delivery names no submission, so the active submissions are read instead'

/** @returns why the delivery is set aside; null if the delivery was understood. */
function asideReason({ type, isJson }: Delivery, isNamed: boolean): string | null {
  if (!isJson) return 'the body is not JSON'
  if (type === 'submission.message') {
    return `the message does not match the specification${isNamed ? '; its feed is read instead' : `, and ${UNNAMED}`}`
  }
  if (type === 'submission.events') return isNamed ? null : UNNAMED
  return type === null ? 'the body has no type' : `this release does not know the type ${JSON.stringify(type.slice(0, 80))}`
}
