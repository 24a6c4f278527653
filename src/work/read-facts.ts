import type { Fact, Origin } from '../model/facts.ts'
import { feeds } from '../model/reads.ts'
import type { Db } from '../store/engine/db.ts'
import type { ClaimedDelivery, Settlement } from '../store/inbox/work.ts'
import { knownSubmissions } from '../store/mirror/submissions.ts'
import { type Delivery, readDelivery, SELF_DELIVERY_TYPE } from '../upstream/webhook/delivery.ts'

/** A delivery, read: what to apply, how to settle it, and whether it can only be answered by a sweep. */
export interface ReadDelivery {
  readonly facts: readonly Fact[]
  readonly settlement: Settlement
  /** Something happened, but the delivery does not say where: the active submissions are to be read. */
  readonly sweep: boolean
  /** It told of events that cannot be read here. */
  readonly unreadableEvents: boolean
}

const origin = { via: 'webhook', cause: 'webhook', fromReplay: false, firstWalk: false } as const satisfies Origin

/**
 * Turns claimed deliveries into facts. A message is applied as the spec shows it; of anything else whole events are applied, and
 * the feeds of every submission that is named (under `submission_id`, or by an id that is known) are woken (invariant 11).
 */
export async function readDeliveries(db: Db, claimed: readonly ClaimedDelivery[]): Promise<ReadDelivery[]> {
  const read = claimed.map((delivery) => ({ delivery, content: readDelivery(delivery.body) }))
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
  // Our own, which only shows that deliveries arrive.
  if (content.type === SELF_DELIVERY_TYPE) {
    return { facts: [], settlement: settle(delivery, content, null, 'done', null), sweep: false, unreadableEvents: false }
  }
  if (content.message !== null) {
    const { submissionId, message } = content.message
    return {
      facts: [
        { kind: 'message', account, submissionId, message, ...origin },
        { kind: 'wake', account, submissionId, cause: 'webhook', reads: ['thread'] },
      ],
      settlement: settle(delivery, content, submissionId, 'done', null),
      sweep: false,
      unreadableEvents: false,
    }
  }
  const ids = content.submissionIds.length > 0 ? content.submissionIds : content.otherIds.filter((id) => known.has(`${account} ${id}`))
  const facts: Fact[] = content.events.map(({ submissionId, event }) => ({ kind: 'event', account, submissionId, event, ...origin }))
  for (const submissionId of ids) facts.push({ kind: 'wake', account, submissionId, cause: 'webhook', reads: feeds })
  // Whatever event could be taken lies in what names its submission.
  const understood = content.type === 'submission.events' && ids.length > 0
  return {
    facts,
    settlement: settle(
      delivery,
      content,
      ids.length === 1 ? (ids[0] ?? null) : null,
      understood ? 'done' : 'aside',
      understood ? null : whyAside(content, ids.length > 0),
    ),
    sweep: ids.length === 0,
    unreadableEvents: content.type === 'submission.events' && content.events.length === 0,
  }
}

function settle(
  delivery: ClaimedDelivery,
  content: Delivery,
  submissionId: string | null,
  state: Settlement['state'],
  error: string | null,
): Settlement {
  return { delivery, state, submissionId, kind: content.type, error }
}

const UNNAMED = 'it names no submission; the active ones are read instead'

/** @param named whether it is known which submission it is about. */
function whyAside(content: Delivery, named: boolean): string {
  if (!content.isJson) return 'the body is no JSON'
  if (content.type === 'submission.message') {
    return `the message is not what the specification says${named ? '; its feed is read instead' : `, and ${UNNAMED}`}`
  }
  if (content.type === 'submission.events') return UNNAMED
  return content.type === null
    ? 'the body has no type'
    : `the type ${JSON.stringify(content.type.slice(0, 80))} is not known to this release`
}
