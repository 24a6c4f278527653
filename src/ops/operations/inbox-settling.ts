import { z } from 'zod'
import type { Query } from '../../store/engine/db.ts'
import type { InboxSearch } from '../../store/inbox/fits.ts'
import {
  changeDeliveries,
  countDead,
  countReplayable,
  findDeliveries,
  type InboxFilter,
  makeReady,
  setAside,
} from '../../store/inbox/queries.ts'
import { withInsured } from '../../store/mirror/insured.ts'
import { auditAction, auditedDb } from '../../store/operators/actions.ts'
import type { InboxState } from '../../store/schema/inbox.ts'
import { type ActionContext, filterForAudit, idsForAudit, untilDone } from '../actions/context.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import { NotFoundError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
import { pluralize, printableLine } from '../output/text.ts'
import { filters } from './delivery-parts.ts'
import { deliveryId, filterOf } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'

/** Deliveries per transaction: few enough that a running `serve` does not wait. */
const STEP = 500

/** What operators can do with stored deliveries. */
interface Deed {
  readonly name: 'replay' | 'skip'
  /** What its audit entry calls those that it changed. */
  readonly done: string
  /** States by which deliveries can be chosen. */
  readonly states: readonly InboxState[]
  /** @returns how many it changed. */
  readonly change: typeof makeReady
  /** As `change`, but it only counts. */
  readonly count: typeof makeReady
}

/** Makes deliveries ready to be worked again, whatever their state. */
const replayDeed = {
  name: 'replay',
  done: 'replayed',
  states: ['ready', 'done', 'aside', 'dead'],
  change: makeReady,
  count: countReplayable,
} as const satisfies Deed

/** Sets dead deliveries aside. */
const skipDeed = { name: 'skip', done: 'skipped', states: ['dead'], change: setAside, count: countDead } as const satisfies Deed

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

/** Changes, or counts, all deliveries that the filter matches. @returns how many. */
async function inAll(a: ActionContext, change: typeof makeReady, filter: InboxFilter & InboxSearch): Promise<number> {
  let n = 0
  await untilDone(a, async (after) => {
    const step = await changeDeliveries(a.db, change, { ...filter, withInsured: (rows) => withInsured(a.db.read, rows) }, after, STEP)
    n += step.changed
    return step.nextAfter
  })
  return n
}

/** Which deliveries a change is about: ids, or what finds them. */
function choiceFor(change: Deed) {
  return z.strictObject({
    ids: z.array(deliveryId).min(1).max(500).optional().describe('ids of deliveries (svix-id), or their numbers in the list'),
    state: z.enum(change.states).optional().describe('all deliveries in this state'),
    ...filters,
    dry_run: z.boolean().optional().describe('only tell how many there are; nothing is changed'),
  })
}

type Choice = z.output<ReturnType<typeof choiceFor>>

/** @returns how many deliveries it changed, or would change: then nothing is noted. */
async function settle(c: OperationContext, deed: Deed, { ids, dry_run, ...chosen }: Choice): Promise<number> {
  const note = { who: c.who, action: `inbox.${deed.name}`, target: null }
  if (ids !== undefined) {
    const found = await numbersOf(c.db.read, ids)
    return dry_run ? await deed.count(c.db, found) : await deed.change(auditedDb(c.db, { ...note, detail: idsForAudit(ids) }), found)
  }
  await refuseUnknownNames(c.db.read, c.config, chosen)
  const filter = filterOf(c, chosen)
  if (dry_run) return await inAll(c, deed.count, filter)
  const { changed } = await auditAction(c.db, { ...note, detail: filterForAudit(filter) }, async () => {
    const changed = await inAll(c, deed.change, filter)
    return { changed, detail: { [deed.done]: changed } }
  })
  return changed
}

function isNarrowed({ ids: _, state: __, dry_run: ___, ...narrowing }: Choice): boolean {
  return Object.values(narrowing).some((each) => each !== undefined)
}

const replay = operation({
  name: 'inbox.replay',
  summary: 'work stored deliveries again, whatever became of them',
  description: 'Those of `ids`, or all that a filter finds as the list of deliveries does. Ask with `dry_run` first, which tells how many.',
  role: 'operator',
  http: 'POST /inbox/replay',
  tool: 'replay',
  // Any filter will do, so that giving none at all is no slip of the hand.
  input: choiceFor(replayDeed).refine(
    (given) => (given.ids === undefined) === (given.state !== undefined || isNarrowed(given)),
    'give ids or a filter, and only one of them',
  ),
  argument: 'ids',
  output: record('Replayed', { replayed: z.int() }, 'how many; with `dry_run` how many it would be'),
  run: async (c, given) => ({ replayed: await settle(c, replayDeed, given) }),
  print: (to, { replayed }, { dry_run }) =>
    to.line(`${pluralize(replayed, 'delivery', 'deliveries')} ${dry_run ? 'would' : 'will'} be worked again`),
})

const skip = operation({
  name: 'inbox.skip',
  summary: 'give dead deliveries up: they are set aside, and nobody is told of them any more',
  description: 'Retention takes them in its time. Until then they can be replayed.',
  role: 'operator',
  http: 'POST /inbox/skip',
  // Whoever gives up more than one says that they are dead.
  input: choiceFor(skipDeed)
    .refine(({ ids, state }) => (ids === undefined) === (state !== undefined), 'give ids or state, and only one of them')
    .refine(
      (given) => given.ids === undefined || !isNarrowed(given),
      'account, submission_id, since, until, kind and text go with state, not with ids',
    ),
  argument: 'ids',
  output: record('Skipped', { skipped: z.int() }, 'how many; with `dry_run` how many it would be'),
  run: async (c, given) => ({ skipped: await settle(c, skipDeed, given) }),
  print: (to, { skipped }, { dry_run }) =>
    to.line(`${pluralize(skipped, 'dead delivery', 'dead deliveries')} ${dry_run ? 'would be ' : ''}set aside`),
})

/** `inbox replay|skip` */
export const operations = [replay, skip]
