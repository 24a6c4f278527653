import type { Log } from '../../base/log.ts'
import type { AccountConfig } from '../../config/config.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import { type ReplayedRejected, replayRejected } from '../../receive/replay-rejected.ts'
import { type ChangeName, changesBetween } from '../../store/changes/reader.ts'
import type { Query } from '../../store/engine/db.ts'
import { InboxAppender } from '../../store/inbox/append.ts'
import type { InboxSearch } from '../../store/inbox/fits.ts'
import {
  changeDeliveries,
  countDead,
  countReplayable,
  findDeliveries,
  type InboxDelivery,
  type InboxFilter,
  makeReady,
  setAside,
} from '../../store/inbox/queries.ts'
import { RejectedStore, type RejectedSummary } from '../../store/inbox/rejected.ts'
import { type ActionDetail, auditAction, auditedDb } from '../../store/operators/actions.ts'
import type { InboxState } from '../../store/schema/inbox.ts'
import { DeliveryVerifier } from '../../upstream/webhook/signature.ts'
import { NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import { type ActionContext, idsForAudit, untilDone } from './context.ts'

/** Deliveries per transaction: few enough that a running `serve` does not wait. */
const STEP = 500

/** Headers of a delivery, and its body as text; null when it is no longer kept. */
interface Content {
  readonly headers: Record<string, string>
  readonly body: string | null
}

type ShownDelivery = Omit<InboxDelivery, 'headers' | 'body'> & Content
type ShownRejected = ReturnType<typeof rejectedFields> & Content

/** The stored deliveries with that svix-id, or the one with that number. */
export async function showDeliveries(q: Query, id: string): Promise<ShownDelivery[]> {
  return (await findDeliveries(q, id)).map(shownDelivery)
}

/** How far the clock of a process may be from the database's, by which a delivery is settled. */
const CLOCKS_APART_MS = 2_000
const MOST_CHANGES = 200

/** The changes that webhooks made to the submission of a delivery from its arrival to its settling. */
export async function changesBy(
  q: Query,
  { account, submission_id: submissionId, received_at, settled_at }: InboxDelivery,
): Promise<ChangeName[]> {
  if (submissionId === null || settled_at === null) return []
  const [since, until] = [timeFromMs(msFromTime(received_at) - CLOCKS_APART_MS), timeFromMs(msFromTime(settled_at) + CLOCKS_APART_MS)]
  return await changesBetween(q, { account, submissionId, cause: 'webhook', since, until }, MOST_CHANGES)
}

function shownDelivery({ headers, body, ...fields }: InboxDelivery): ShownDelivery {
  return { ...fields, headers: JSON.parse(headers) as Record<string, string>, body: body?.toString('utf8') ?? null }
}

/** The refused delivery with that number; null when it is not kept. */
export async function showRejected(store: RejectedStore, id: number): Promise<ShownRejected | null> {
  const rejected = await store.get(id)
  if (rejected === null) return null
  return { ...rejectedFields(rejected), headers: { ...rejected.headers }, body: rejected.body?.toString('utf8') ?? null }
}

/** A refused delivery as lists show it. */
export function rejectedFields(r: RejectedSummary) {
  const { id, account, path, address, reason, cut } = r
  const times = { received_at: r.receivedAt, replayed_at: r.replayedAt }
  return { rejected_id: id, account, path, address, reason, ...times, body_bytes: r.bodyBytes, body_cut: cut }
}

/** What operators can do with stored deliveries. */
export interface StateChange {
  readonly name: 'replay' | 'skip'
  /** States by which deliveries can be chosen. */
  readonly states: readonly InboxState[]
  /** @returns how many it changed. */
  readonly change: typeof makeReady
  /** As `change`, but it only counts. */
  readonly count: typeof makeReady
}

/** Makes deliveries ready to be worked again, whatever their state. */
export const replay = {
  name: 'replay',
  states: ['ready', 'done', 'aside', 'dead'],
  change: makeReady,
  count: countReplayable,
} as const satisfies StateChange

/** Sets dead deliveries aside. */
export const skip = { name: 'skip', states: ['dead'], change: setAside, count: countDead } as const satisfies StateChange

/** Which deliveries are meant, in place of ids. */
type DeliveryChoice = InboxFilter & InboxSearch

/** Changes the named deliveries. @returns how many. @throws NotFoundError with a line for each unknown id. */
export async function settleIds(a: ActionContext, change: StateChange, ids: readonly string[]): Promise<number> {
  const found = await numbersOf(a.db.read, ids)
  return await change.change(auditedDb(a.db, { who: a.who, action: `inbox.${change.name}`, target: null, detail: idsForAudit(ids) }), found)
}

/** How many of the named deliveries, or of those that a filter matches, would be changed. Nothing is, and nothing is noted. */
export async function countChoice(a: ActionContext, change: StateChange, choice: readonly string[] | DeliveryChoice): Promise<number> {
  if (isIds(choice)) return await change.count(a.db, await numbersOf(a.db.read, choice))
  let n = 0
  await untilDone(a, async (after) => {
    const step = await changeDeliveries(a.db, change.count, choice, after, STEP)
    n += step.changed
    return step.nextAfter
  })
  return n
}

function isIds(choice: readonly string[] | DeliveryChoice): choice is readonly string[] {
  return Array.isArray(choice)
}

/** @throws NotFoundError with a line for each unknown id. */
async function numbersOf(q: Query, ids: readonly string[]): Promise<number[]> {
  const found: number[] = []
  const unknown: string[] = []
  for (const id of ids) {
    const deliveries = await findDeliveries(q, id)
    if (deliveries.length === 0) unknown.push(`there is no delivery ${printableLine(id)}`)
    found.push(...deliveries.map((delivery) => delivery.inbox_id))
  }
  if (unknown.length > 0) throw new NotFoundError(unknown)
  return found
}

/** Changes all deliveries that the filter matches. @returns how many. */
export async function settleAll(a: ActionContext, change: StateChange, filter: DeliveryChoice): Promise<number> {
  const note = { who: a.who, action: `inbox.${change.name}`, target: null, detail: filterForAudit(filter) }
  const done = change.name === 'replay' ? 'replayed' : 'skipped'
  const { changed } = await auditAction(a.db, note, async () => {
    let n = 0
    await untilDone(a, async (after) => {
      const step = await changeDeliveries(a.db, change.change, filter, after, STEP)
      n += step.changed
      return step.nextAfter
    })
    return { changed: n, detail: { [done]: n } }
  })
  return changed
}

/** Verifies refused deliveries again, after a secret was corrected; those with a good signature will be worked. */
export async function replayRefused(
  a: ActionContext,
  log: Log,
  accounts: readonly AccountConfig[],
  filter: Pick<InboxFilter, 'account' | 'since' | 'until'>,
): Promise<ReplayedRejected> {
  const { account, since, until } = filter
  const note = { who: a.who, action: 'rejected.replay', target: account ?? null, detail: filterForAudit({ since, until }) }
  return await auditAction(a.db, note, async () => {
    const replayed = await replayRejected({
      store: new RejectedStore(a.db, log),
      appender: new InboxAppender(a.db),
      verifiers: new Map(accounts.map(({ name, webhookSecrets }) => [name, new DeliveryVerifier(webhookSecrets)])),
      account,
      since,
      until,
    })
    return { ...replayed, detail: { accepted: replayed.accepted } }
  })
}

/** A filter for an audit entry, without what is undefined. */
export function filterForAudit(filter: Readonly<Record<string, unknown>> | InboxFilter): ActionDetail {
  const narrowing = Object.entries(filter).filter(([, value]) => value !== undefined)
  return Object.fromEntries(narrowing.map(([name, value]) => [name, String(value)]))
}
