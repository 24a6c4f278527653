import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { findOutboxRows, type OutboxEntry } from '../../store/outbox/queries.ts'
import {
  countChosen,
  countRetrying,
  type OutboxSelection,
  type OutboxStep,
  retryNow,
  retryRows,
  skipRows,
} from '../../store/outbox/retry.ts'
import { filterForAudit, idsForAudit, untilDone } from '../actions/context.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
import { pluralize, printableLine } from '../output/text.ts'
import { filterOf, name } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'
import { choice } from './outbox-parts.ts'

/** Rows per transaction. Larger transactions would delay a running `serve`. */
const STEP = 200

interface StateChange {
  readonly name: 'retry' | 'skip'
  /** States in which a change can be selected. */
  readonly states: readonly ('ready' | 'dead' | 'unknown' | 'skipped')[]
  readonly step: (db: Db, selection: OutboxSelection, after: number, limit: number, withLookup: readonly string[]) => Promise<OutboxStep>
}

/** Retries failed changes now. Without ids and `state`, also retries changes that wait for their next attempt. */
const retry = { name: 'retry', states: ['dead', 'unknown', 'skipped'], step: retryRows } as const satisfies StateChange
/** Skips changes. The later changes of the same submission are then sent. */
const skip = { name: 'skip', states: ['dead', 'unknown', 'ready'], step: skipRows } as const satisfies StateChange

const MOST_COUNTED = 100_000

/**
 * @param change `retry` or `skip`.
 * @param ids outbox ids or message ids.
 * @returns the outbox ids of the changes.
 * @throws NotFoundError if an id is unknown.
 * @throws ConflictError if a message id belongs to several destinations, or if `change` doesn't apply to a row's state.
 */
async function outboxIdsOf(c: OperationContext, change: StateChange, ids: readonly string[], destination?: string): Promise<number[]> {
  const unknown: string[] = []
  const unfit: string[] = []
  const found: number[] = []
  for (const id of ids) {
    const rows = (await findOutboxRows(c.db.read, id)).filter((row) => destination === undefined || row.destination === destination)
    const name = printableLine(id)
    if (rows.length === 0) unknown.push(`the outbox has no change ${name}${destination === undefined ? '' : ` for ${destination}`}`)
    const [only] = rows
    // One message may go to several destinations, with a different outcome at each.
    if (new Set(rows.map((row) => row.destination)).size > 1) {
      const places = rows.map((row) => `${row.destination} (outbox id ${row.outbox_id})`).join(', ')
      unfit.push(`message ${name} goes to ${places}. Name one with ${c.nameOf('destination')}, or give its outbox id`)
    } else if (rows.length === 1 && only && !change.states.some((state) => state === stateOf(only.state))) {
      unfit.push(`${name} is ${only.state}; ${change.name} applies to ${change.states.join(', ')}${adviceFor(only)}`)
    }
    found.push(...rows.map((row) => row.outbox_id))
  }
  if (unknown.length > 0) throw new NotFoundError([...unknown, ...unfit])
  if (unfit.length > 0) throw new ConflictError(unfit)
  return found
}

function adviceFor({ state, destination }: OutboxEntry): string {
  if (state === 'unmapped') return `. Map its client with \`submission-mirror destination map ${destination}\``
  if (state === 'held') return '. Retry or skip the failed change of the same submission first'
  if (stateOf(state) !== 'ready') return ''
  return `. It is sent automatically; to retry now, run \`submission-mirror destination resume ${destination}\``
}

/** @returns the stored state. Lists show `ready` as `waiting`, `retrying`, `unmapped` or `held`. */
function stateOf(shown: string): string {
  return ['waiting', 'retrying', 'unmapped', 'held'].includes(shown) ? 'ready' : shown
}

/**
 * @returns names of the destinations with `lookup` that aren't idempotent.
 * Before a retry, the sender looks up at such a destination whether the change already arrived.
 */
function destinationsWithLookup({ destinations }: Pick<Config, 'destinations'>, only: string | null): string[] {
  const found = destinations.filter((one) => !one.idempotent && one.kind === 'http' && one.lookup !== null)
  return found.map(({ name }) => name).filter((name) => only === null || name === only)
}

const settled = record('OutboxSettled', {
  changed: z.int(),
  under_way: z.int().describe('unchanged because they are in flight'),
})

const GIVE = 'give ids, or select changes by destination, account, submission, state, since or until'

function settling(change: StateChange, summary: string, unless: string, done: string, tool?: string) {
  return operation({
    name: `outbox.${change.name}`,
    summary,
    role: 'operator',
    http: `POST /outbox/${change.name}`,
    ...(tool !== undefined && { tool }),
    input: z
      .strictObject({
        ids: z.array(name).min(1).max(500).optional().describe('outbox ids; or message ids (webhook-id), which also need the destination'),
        ...choice(change.states, ` (default: ${unless})`),
        dry_run: z.boolean().optional().describe('print how many would change, without changing them'),
      })
      .refine(({ dry_run: _, ...given }) => Object.values(given).some((value) => value !== undefined), GIVE)
      .refine(
        ({ ids, destination: _, dry_run: __, ...others }) =>
          ids === undefined || Object.values(others).every((value) => value === undefined),
        'use ids only with destination, without other fields',
      ),
    argument: 'ids',
    output: settled,
    run: async (c, { ids, dry_run, ...chosen }) => {
      const filter = filterOf(c, chosen)
      const selection = ids === undefined ? filter : { outboxIds: await outboxIdsOf(c, change, ids, chosen.destination) }
      const hastens = change.name === 'retry' && ids === undefined && chosen.state === undefined
      if (dry_run) {
        const hastened = hastens ? await countRetrying(c.db.read, filter, MOST_COUNTED) : 0
        return { changed: hastened + (await countChosen(c.db.read, selection, change.states, MOST_COUNTED)), under_way: 0 }
      }
      const target = chosen.destination ?? null
      const withLookup = change.name === 'retry' ? destinationsWithLookup(c.config, target) : []
      const note = { who: c.who, action: `outbox.${change.name}`, target, detail: ids ? idsForAudit(ids) : filterForAudit(filter) }
      return await auditAction(c.db, note, async () => {
        let [changed, under_way] = [0, 0]
        const take = (step: OutboxStep) => {
          changed += step.changed
          under_way += step.inFlight
          return step.nextAfter
        }
        await untilDone(c, async (after) => take(await change.step(c.db, selection, after, STEP, withLookup)))
        if (hastens) await untilDone(c, async (after) => take(await retryNow(c.db, filter, after, STEP)))
        return { changed, under_way, detail: { changed, under_way } }
      })
    },
    print: (to, { changed, under_way }, { dry_run }) => {
      to.line(`${pluralize(changed, 'change')} ${dry_run === true ? done.replace('will', 'would') : done}`)
      if (under_way > 0) to.line(`${pluralize(under_way, 'change')} in flight and unchanged; run the command again`)
    },
  })
}

export const operations = [
  settling(retry, 'retry changes now', 'dead, unknown and retrying changes', 'will be retried', 'retry_push'),
  settling(skip, 'skip changes and send the changes that wait behind them', 'dead and unknown changes', 'will be skipped'),
]
