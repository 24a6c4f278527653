import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { countRetrying, hastenRows } from '../../store/outbox/hasten.ts'
import { findOutboxRows, type OutboxEntry } from '../../store/outbox/queries.ts'
import { countChosen, type OutboxSelection, type OutboxStep, retryRows, skipRows } from '../../store/outbox/retry.ts'
import { filterForAudit, idsForAudit, untilDone } from '../actions/context.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
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

/** Counting stops here. */
const MOST_COUNTED = 100_000

/** The rows of these numbers, or of messages of these ids. @throws NotFoundError, or ConflictError where it cannot tell which is meant. */
async function outboxIdsOf(c: OperationContext, change: StateChange, ids: readonly string[], destination?: string): Promise<number[]> {
  const unknown: string[] = []
  const unfit: string[] = []
  const found: number[] = []
  for (const id of ids) {
    const rows = (await findOutboxRows(c.db.read, id)).filter((row) => destination === undefined || row.destination === destination)
    const name = printableLine(id)
    if (rows.length === 0) unknown.push(`there is no change ${name} in the outbox${destination === undefined ? '' : ` to ${destination}`}`)
    const [only] = rows
    // Who looked at one destination does not know the outcome at another.
    if (new Set(rows.map((row) => row.destination)).size > 1) {
      const places = rows.map((row) => `${row.destination} (number ${row.outbox_id})`).join(', ')
      unfit.push(`message ${name} is on its way to ${places}: name one with ${c.nameOf('destination')}, or give its number`)
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

/** The stored state; lists say what exactly a ready row waits for. */
function stateOf(shown: string): string {
  return ['waiting', 'retrying', 'unmapped', 'held'].includes(shown) ? 'ready' : shown
}

/**
 * Destinations that must not get a change twice and can be asked whether they have it. Before a retry, a change that may have arrived is
 * looked up there.
 */
function destinationsWithLookup({ destinations }: Pick<Config, 'destinations'>, only: string | null): string[] {
  const found = destinations.filter((one) => !one.idempotent && one.kind === 'http' && one.lookup !== null)
  return found.map(({ name }) => name).filter((name) => only === null || name === only)
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
      const filter = filterOf(c, chosen)
      const selection = ids === undefined ? filter : { outboxIds: await outboxIdsOf(c, change, ids, chosen.destination) }
      // Those that wait for their next attempt are tried now.
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
        if (hastens) await untilDone(c, async (after) => take(await hastenRows(c.db, filter, after, STEP)))
        return { changed, under_way, detail: { changed, under_way } }
      })
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
