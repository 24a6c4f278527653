import type { Config } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { countRetrying, hastenRows } from '../../store/outbox/hasten.ts'
import { findOutboxRows, type OutboxEntry, type OutboxFilter } from '../../store/outbox/queries.ts'
import { countChosen, type OutboxSelection, type OutboxStep, retryRows, skipRows } from '../../store/outbox/retry.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import { type ActionContext, idsForAudit, untilDone } from './context.ts'
import { filterForAudit } from './inbox.ts'

/** Rows per transaction: few enough that a running `serve` does not wait. */
const STEP = 200

/** What operators can do with rows of the outbox. */
export interface StateChange {
  readonly name: 'retry' | 'skip'
  /** States in which a row can be changed so. */
  readonly states: readonly ('ready' | 'dead' | 'unknown' | 'skipped')[]
  readonly step: (db: Db, selection: OutboxSelection, after: number, limit: number, withLookup: readonly string[]) => Promise<OutboxStep>
}

/** Makes changes that were given up due again, and, of a filter without a state, those that wait for their next attempt due now. */
export const retry = { name: 'retry', states: ['dead', 'unknown', 'skipped'], step: retryRows } as const satisfies StateChange
/** Gives changes up for good, so that what waits behind them goes out. */
export const skip = { name: 'skip', states: ['dead', 'unknown', 'ready'], step: skipRows } as const satisfies StateChange

/** Rows by their numbers, or by the ids of their messages. */
export interface Named {
  readonly ids: readonly string[]
  /** Only rows to this destination. */
  readonly destination?: string | undefined
  /** The option or field that names a destination, for the problems. */
  readonly field: string
}

/** Which rows to change. */
export type Choice = Named | { readonly filter: OutboxFilter }

/** Rows changed, and rows left alone because they are in flight. */
export interface Settled {
  readonly changed: number
  readonly inFlight: number
}

/**
 * Retries or skips rows of the outbox.
 * @throws NotFoundError for unknown ids; ConflictError for rows in another state, and for a message to several destinations of which none is
 * named.
 */
export async function settleOutbox(
  a: ActionContext & { readonly config: Pick<Config, 'destinations'> },
  change: StateChange,
  choice: Choice,
): Promise<Settled> {
  const selection = 'ids' in choice ? { outboxIds: await outboxIdsOf(a.db, change, choice) } : choice.filter
  const target = ('ids' in choice ? choice.destination : choice.filter.destination) ?? null
  const detail = 'ids' in choice ? idsForAudit(choice.ids) : filterForAudit({ ...choice.filter })
  const withLookup = change.name === 'retry' ? destinationsWithLookup(a.config, target) : []
  return await auditAction(a.db, { who: a.who, action: `outbox.${change.name}`, target, detail }, async () => {
    let [changed, inFlight] = [0, 0]
    const take = (step: OutboxStep) => {
      changed += step.changed
      inFlight += step.inFlight
      return step.nextAfter
    }
    await untilDone(a, async (after) => take(await change.step(a.db, selection, after, STEP, withLookup)))
    const waiting = alsoRetrying(change, choice)
    if (waiting !== null) await untilDone(a, async (after) => take(await hastenRows(a.db, waiting, after, STEP)))
    return { changed, inFlight, detail: { changed, under_way: inFlight } }
  })
}

/**
 * Destinations that must not get a change twice and can be asked whether they have it. Before a retry, a change that may have arrived is
 * looked up there.
 */
function destinationsWithLookup({ destinations }: Pick<Config, 'destinations'>, only: string | null): string[] {
  const found = destinations.filter((one) => !one.idempotent && one.kind === 'http' && one.lookup !== null)
  return found.map(({ name }) => name).filter((name) => only === null || name === only)
}

/** Counting stops here. */
const MOST_COUNTED = 100_000

/** How many rows would be retried or skipped, those in flight included. Nothing is changed, and nothing is noted. */
export async function countOutbox({ db }: ActionContext, change: StateChange, choice: Choice): Promise<number> {
  const selection = 'ids' in choice ? { outboxIds: await outboxIdsOf(db, change, choice) } : choice.filter
  const waiting = alsoRetrying(change, choice)
  const hastened = waiting === null ? 0 : await countRetrying(db.read, waiting, MOST_COUNTED)
  return hastened + (await countChosen(db.read, selection, change.states, MOST_COUNTED))
}

/** The filter by which waiting changes are retried now; null when they are not. */
function alsoRetrying(change: StateChange, choice: Choice): OutboxFilter | null {
  return change.name === 'retry' && 'filter' in choice && choice.filter.state === undefined ? choice.filter : null
}

async function outboxIdsOf(db: Db, change: StateChange, { ids, destination, field }: Named): Promise<number[]> {
  const unknown: string[] = []
  const unfit: string[] = []
  const found: number[] = []
  for (const id of ids) {
    const rows = (await findOutboxRows(db.read, id)).filter((row) => destination === undefined || row.destination === destination)
    const name = printableLine(id)
    if (rows.length === 0) unknown.push(`there is no change ${name} in the outbox${destination === undefined ? '' : ` to ${destination}`}`)
    const [only] = rows
    // Who looked at one destination does not know the outcome at another.
    if (new Set(rows.map((row) => row.destination)).size > 1) {
      unfit.push(`message ${name} is on its way to ${rows.map(placeOf).join(', ')}: name one with ${field}, or give its number`)
    } else if (rows.length === 1 && only && !change.states.some((state) => state === stateOf(only.state))) {
      unfit.push(`${name} is ${only.state}; ${change.name} takes what is ${change.states.join(' or ')}${adviceFor(only)}`)
    }
    found.push(...rows.map((row) => row.outbox_id))
  }
  if (unknown.length > 0) throw new NotFoundError([...unknown, ...unfit])
  if (unfit.length > 0) throw new ConflictError(unfit)
  return found
}

/** What makes a waiting row go out. */
function adviceFor({ state, destination }: OutboxEntry): string {
  if (state === 'unmapped') return `. It waits for \`submission-mirror destination map ${destination}\``
  if (state === 'held') return '. It waits for a change of its submission that was given up: retry or skip that one'
  if (stateOf(state) !== 'ready') return ''
  return `. It goes by itself; \`submission-mirror destination resume ${destination}\` has what failed tried now`
}

function placeOf(row: OutboxEntry): string {
  return `${row.destination} (number ${row.outbox_id})`
}

/** The stored state; lists say what exactly a ready row waits for. */
function stateOf(shown: string): string {
  return ['waiting', 'retrying', 'unmapped', 'held'].includes(shown) ? 'ready' : shown
}
