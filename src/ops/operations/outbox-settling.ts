import { z } from 'zod'
import { proxySettings } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { countRetrying, hastenRows } from '../../store/outbox/hasten.ts'
import { findOutboxRows, type OutboxEntry, type OutboxFilter } from '../../store/outbox/queries.ts'
import { countChosen, type OutboxSelection, type OutboxStep, retryRows, skipRows } from '../../store/outbox/retry.ts'
import { type ActionContext, filterForAudit, idsForAudit, untilDone } from '../actions/context.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import { record } from '../output/record.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { pluralize, printableLine } from '../output/text.ts'
import { filterOf, name } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'
import { choice } from './outbox-parts.ts'

/** Rows per transaction: few enough that a running `serve` does not wait. */
const STEP = 200

/** What operators can do with rows of the outbox. */
interface StateChange {
  readonly name: 'retry' | 'skip'
  /** States in which a row can be changed so. */
  readonly states: readonly ('ready' | 'dead' | 'unknown' | 'skipped')[]
  readonly step: (db: Db, selection: OutboxSelection, after: number, limit: number, withLookup: readonly string[]) => Promise<OutboxStep>
}

/** Makes changes that were given up due again, and, of a filter without a state, those that wait for their next attempt due now. */
const retry = { name: 'retry', states: ['dead', 'unknown', 'skipped'], step: retryRows } as const satisfies StateChange
/** Gives changes up for good, so that what waits behind them goes out. */
const skip = { name: 'skip', states: ['dead', 'unknown', 'ready'], step: skipRows } as const satisfies StateChange

/** Rows by their numbers, or by the ids of their messages. */
interface Named {
  readonly ids: readonly string[]
  /** Only rows to this destination. */
  readonly destination?: string | undefined
  /** The option or field that names a destination, for the problems. */
  readonly field: string
}

/** Which rows to change. */
type Choice = Named | { readonly filter: OutboxFilter }

/**
 * Retries or skips rows of the outbox.
 * @throws NotFoundError for unknown ids; ConflictError for rows in another state, and for a message to several destinations of which none is
 * named.
 */
async function settleOutbox(a: OperationContext, change: StateChange, choice: Choice) {
  const selection = 'ids' in choice ? { outboxIds: await outboxIdsOf(a.db, change, choice) } : choice.filter
  const target = ('ids' in choice ? choice.destination : choice.filter.destination) ?? null
  const detail = 'ids' in choice ? idsForAudit(choice.ids) : filterForAudit({ ...choice.filter })
  const withLookup = change.name === 'retry' ? await destinationsWithLookup(a, target) : []
  return await auditAction(a.db, { who: a.who, action: `outbox.${change.name}`, target, detail }, async () => {
    let [changed, under_way] = [0, 0]
    const take = (step: OutboxStep) => {
      changed += step.changed
      under_way += step.inFlight
      return step.nextAfter
    }
    await untilDone(a, async (after) => take(await change.step(a.db, selection, after, STEP, withLookup)))
    const waiting = alsoRetrying(change, choice)
    if (waiting !== null) await untilDone(a, async (after) => take(await hastenRows(a.db, waiting, after, STEP)))
    return { changed, under_way, detail: { changed, under_way } }
  })
}

/** Counting stops here. */
const MOST_COUNTED = 100_000

/** How many rows would be retried or skipped, those in flight included. Nothing is changed, and nothing is noted. */
async function countOutbox({ db }: ActionContext, change: StateChange, choice: Choice): Promise<number> {
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

/**
 * Destinations that must not get a change twice and can be asked whether they have it. Before a retry, a change that may have arrived is
 * looked up there.
 * @param only limits this to one destination; null for all.
 * @returns their names.
 */
async function destinationsWithLookup({ config, clock, log }: OperationContext, only: string | null): Promise<readonly string[]> {
  const notIdempotent = config.destinations.filter(({ idempotent, name }) => !idempotent && (only === null || name === only))
  if (notIdempotent.length === 0) return []
  const { createKind } = await import('../../push/kinds/create.ts')
  const names: string[] = []
  for (const destination of notIdempotent) {
    const kind = createKind(destination, { clock, log, proxy: proxySettings(config) })
    if (kind.lookUp) names.push(destination.name)
    await kind.close()
  }
  return names
}

const settled = record('OutboxSettled', {
  changed: z.int(),
  under_way: z.int().describe('left alone, because they are being sent just now'),
})

const GIVE = 'give ids, or say which changes by destination, account, submission, state, since or until'

function settling(change: StateChange, summary: string, unless: string, done: string, tool?: string) {
  return operation({
    name: `outbox.${change.name}`,
    summary,
    role: 'operator',
    http: `POST /outbox/${change.name}`,
    ...(tool !== undefined && { tool }),
    input: z
      .strictObject({
        ids: z
          .array(name)
          .min(1)
          .max(500)
          .optional()
          .describe('numbers, or message ids (webhook-id), with the destination for a message that is on its way to several'),
        ...choice(change.states, `; when left out: ${unless}`),
        dry_run: z.boolean().optional().describe('only tell how many there are; nothing is changed'),
      })
      .refine(({ dry_run: _, ...given }) => Object.values(given).some((value) => value !== undefined), GIVE)
      .refine(
        ({ ids, destination: _, dry_run: __, ...others }) =>
          ids === undefined || Object.values(others).every((value) => value === undefined),
        'ids go with the destination alone; leave the others out',
      ),
    argument: 'ids',
    output: settled,
    run: async (c, { ids, dry_run, ...chosen }) => {
      if (ids === undefined) await refuseUnknownNames(c.db.read, c.config, chosen)
      const which =
        ids === undefined ? { filter: filterOf(c, chosen) } : { ids, destination: chosen.destination, field: c.nameOf('destination') }
      if (dry_run === true) return { changed: await countOutbox(c, change, which), under_way: 0 }
      const { changed, under_way } = await settleOutbox(c, change, which)
      return { changed, under_way }
    },
    print: (to, { changed, under_way }, { dry_run }) => {
      to.line(`${pluralize(changed, 'change')} ${dry_run === true ? done.replace('will', 'would') : done}`)
      if (under_way > 0) to.line(`${under_way} left alone, because they are in flight; repeat the command`)
    },
  })
}

/** `outbox retry|skip` */
export const operations = [
  settling(
    retry,
    'try changes again now',
    'dead letters, unknown outcomes, and what waits for its next attempt',
    'will be tried again',
    'retry_push',
  ),
  settling(
    skip,
    'give changes up for good, so that what waits behind them goes on',
    'dead letters and unknown outcomes',
    'will not be sent any more',
  ),
]
