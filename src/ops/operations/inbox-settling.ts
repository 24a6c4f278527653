import { z } from 'zod'
import type { Query } from '../../store/engine/db.ts'
import {
  changeDeliveries,
  countDead,
  countReplayable,
  findDeliveries,
  type InboxFilter,
  type InboxSearch,
  makeReady,
  setAside,
} from '../../store/inbox/queries.ts'
import { withInsured } from '../../store/mirror/submissions.ts'
import { auditAction, auditedDb } from '../../store/operators/actions.ts'
import type { InboxState } from '../../store/schema/inbox.ts'
import { type ActionContext, filterForAudit, idsForAudit, untilDone } from '../actions/context.ts'
import { NotFoundError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
import { pluralize, printableLine } from '../output/text.ts'
import { filters, inboxStates } from './delivery-parts.ts'
import { deliveryId, filterOf } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'

/** Deliveries per transaction. Larger transactions would delay a running `serve`. */
const STEP = 500

interface InboxAction {
  readonly name: 'replay' | 'skip'
  /** Name of the audit entry's field for the number of changed deliveries, such as `replayed`. */
  readonly done: string
  /** States that the field `state` may select. */
  readonly states: readonly InboxState[]
  readonly change: typeof makeReady
  readonly count: typeof makeReady
}

const replaying = {
  name: 'replay',
  done: 'replayed',
  states: inboxStates,
  change: makeReady,
  count: countReplayable,
} as const satisfies InboxAction
const skipping = { name: 'skip', done: 'skipped', states: ['dead'], change: setAside, count: countDead } as const satisfies InboxAction

/**
 * @returns the inbox numbers of the deliveries with these ids.
 * @throws NotFoundError with a line for each unknown id.
 */
async function numbersOf(q: Query, ids: readonly string[]): Promise<number[]> {
  const found: number[] = []
  const unknown: string[] = []
  for (const id of ids) {
    const deliveries = await findDeliveries(q, id)
    if (deliveries.length === 0) unknown.push(`delivery ${printableLine(id)} does not exist`)
    found.push(...deliveries.map((delivery) => delivery.inbox_id))
  }
  if (unknown.length > 0) throw new NotFoundError(unknown)
  return found
}

/**
 * Runs `change` on all matching deliveries. For a dry run, `change` only counts.
 * @returns the number of deliveries.
 */
async function inAll(a: ActionContext, change: typeof makeReady, filter: InboxFilter & InboxSearch): Promise<number> {
  let n = 0
  await untilDone(a, async (after) => {
    const step = await changeDeliveries(a.db, change, { ...filter, withInsured: (rows) => withInsured(a.db.read, rows) }, after, STEP)
    n += step.changed
    return step.nextAfter
  })
  return n
}

function choiceFor(change: InboxAction) {
  return z.strictObject({
    ids: z.array(deliveryId).min(1).max(500).optional().describe('delivery ids (svix-id) or ids in the list'),
    state: z.enum(change.states).optional().describe('only this state'),
    ...filters,
    dry_run: z.boolean().optional().describe('print how many would change, without changing them'),
  })
}

type Choice = z.output<ReturnType<typeof choiceFor>>

/**
 * Changes the chosen deliveries and audits the change. A dry run only counts the deliveries, without an audit entry.
 * @returns the number of deliveries.
 */
async function settle(c: OperationContext, action: InboxAction, { ids, dry_run, ...chosen }: Choice): Promise<number> {
  const note = { who: c.who, action: `inbox.${action.name}`, target: null }
  if (ids !== undefined) {
    const found = await numbersOf(c.db.read, ids)
    return dry_run ? await action.count(c.db, found) : await action.change(auditedDb(c.db, { ...note, detail: idsForAudit(ids) }), found)
  }
  const filter = filterOf(c, chosen)
  if (dry_run) return await inAll(c, action.count, filter)
  const { changed } = await auditAction(c.db, { ...note, detail: filterForAudit(filter) }, async () => {
    const changed = await inAll(c, action.change, filter)
    return { changed, detail: { [action.done]: changed } }
  })
  return changed
}

function isNarrowed({ ids: _, state: __, dry_run: ___, ...narrowing }: Choice): boolean {
  return Object.values(narrowing).some((each) => each !== undefined)
}

const replay = operation({
  name: 'inbox.replay',
  summary: 'process stored deliveries again, in any state',
  description: 'Select deliveries by `ids` or by the filters of `inbox list`. Use `dry_run` first to see how many match.',
  role: 'operator',
  http: 'POST /inbox/replay',
  tool: 'replay',
  // Require ids or a filter, so that an empty request doesn't replay all deliveries.
  input: choiceFor(replaying).refine(
    (given) => (given.ids === undefined) === (given.state !== undefined || isNarrowed(given)),
    'give either ids or a filter',
  ),
  argument: 'ids',
  output: record('Replayed', { replayed: z.int() }, 'deliveries replayed, or with `dry_run` deliveries that match'),
  run: async (c, given) => ({ replayed: await settle(c, replaying, given) }),
  print: (to, { replayed }, { dry_run }) =>
    to.line(`${pluralize(replayed, 'delivery', 'deliveries')} ${dry_run ? 'would' : 'will'} be processed again`),
})

const skip = operation({
  name: 'inbox.skip',
  summary: 'skip dead deliveries: set them aside and stop alerting on them',
  description: 'You can replay them until retention removes them.',
  role: 'operator',
  http: 'POST /inbox/skip',
  // Without ids, require `state`, so that nobody skips all dead deliveries by mistake.
  input: choiceFor(skipping)
    .refine(({ ids, state }) => (ids === undefined) === (state !== undefined), 'give either ids or state')
    .refine(
      (given) => given.ids === undefined || !isNarrowed(given),
      'use account, submission_id, since, until, kind and text with state, not with ids',
    ),
  argument: 'ids',
  output: record('Skipped', { skipped: z.int() }, 'deliveries skipped, or with `dry_run` deliveries that match'),
  run: async (c, given) => ({ skipped: await settle(c, skipping, given) }),
  print: (to, { skipped }, { dry_run }) =>
    to.line(`${pluralize(skipped, 'dead delivery', 'dead deliveries')} ${dry_run ? 'would be ' : ''}set aside`),
})

export const operations = [replay, skip]
