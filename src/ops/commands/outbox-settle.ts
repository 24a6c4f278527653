import type { Command } from 'commander'
import { UsageError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { findOutboxRows, type OutboxSelection, type OutboxStep, retryRows, skipRows } from '../../store/outbox-queries.ts'
import { counted, printableLine } from '../text.ts'
import { type CommandContext, withStore } from './context.ts'
import { type ChoiceOptions, filterOf, withChoice } from './outbox-choice.ts'

/** Rows in one transaction: few enough that a running serve does not wait. */
const STEP = 200
const PAUSE_MS = 10

const RETRIED = ['dead', 'unknown', 'skipped'] as const
const SKIPPED = ['dead', 'unknown', 'ready'] as const

/** One of the two commands. */
interface Deed {
  readonly name: 'retry' | 'skip'
  readonly states: readonly ('ready' | 'dead' | 'unknown' | 'skipped')[]
  readonly step: (db: Db, selection: OutboxSelection, after: number, limit: number) => Promise<OutboxStep>
  readonly done: string
}

/** `outbox retry ID…|FILTERS` and `outbox skip ID…|FILTERS`; filters that name no state mean what is dead or unknown. */
export function addRetryAndSkip(outbox: Command, c: CommandContext): void {
  add(outbox, c, 'try changes again that were given up (without --state: dead letters and unknown outcomes)', {
    ...{ name: 'retry', states: RETRIED, step: retryRows, done: 'will be tried again' },
  })
  add(outbox, c, 'give changes up for good, so that what waits behind them goes on (without --state: dead letters and unknown outcomes)', {
    ...{ name: 'skip', states: SKIPPED, step: skipRows, done: 'will not be sent any more' },
  })
}

function add(outbox: Command, c: CommandContext, description: string, deed: Deed): void {
  const command = outbox
    .command(deed.name)
    .description(description)
    .argument('[ids...]', 'message ids (webhook-id), or numbers in the list')
  withChoice(command, deed.states).action((ids: string[], options: ChoiceOptions) => settle(c, deed, ids, options))
}

async function settle(c: CommandContext, deed: Deed, ids: readonly string[], options: ChoiceOptions): Promise<void> {
  const problems: string[] = []
  const filter = filterOf(c, options, deed.states, problems)
  const { destination, ...others } = options
  const narrowed = Object.values(others).some((option) => option !== undefined)
  if (ids.length === 0 && !narrowed && destination === undefined) {
    problems.push(
      `outbox ${deed.name}: give ids, or say which changes by --destination, --state, --submission, --account, --since, --until`,
    )
  }
  if (ids.length > 0 && narrowed) problems.push(`outbox ${deed.name}: ids go with --destination alone; leave the other options out`)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ db }) => {
    const selection = ids.length > 0 ? { outboxIds: await outboxIdsOf(db, ids, destination, deed) } : filter
    let [changed, underWay] = [0, 0]
    for (let after: number | null = 0; after !== null; ) {
      c.host.signal.throwIfAborted()
      const step: OutboxStep = await deed.step(db, selection, after, STEP)
      changed += step.changed
      underWay += step.underWay
      after = step.nextAfter
      if (after !== null) await c.clock.sleep(PAUSE_MS, c.host.signal)
    }
    c.host.stdout.write(`${counted(changed, 'change')} ${deed.done}\n`)
    if (underWay > 0) c.host.stdout.write(`${underWay} left alone, because they are being sent just now; repeat the command\n`)
  })
}

/** The same message may be on its way to several destinations. */
async function outboxIdsOf(db: Db, ids: readonly string[], destination: string | undefined, deed: Deed): Promise<number[]> {
  const problems: string[] = []
  const found: number[] = []
  for (const id of ids) {
    const rows = (await findOutboxRows(db.read, id)).filter((row) => destination === undefined || row.destination === destination)
    const name = printableLine(id)
    if (rows.length === 0) problems.push(`there is no change ${name} in the outbox${destination === undefined ? '' : ` to ${destination}`}`)
    const [only] = rows
    if (rows.length === 1 && only && !deed.states.some((state) => stateOf(only.state) === state)) {
      problems.push(`${name} is ${only.state}; only what is ${deed.states.join(', ')} can be meant by ${deed.name}`)
    }
    found.push(...rows.map((row) => row.outbox_id))
  }
  if (problems.length > 0) throw new UsageError(problems)
  return found
}

/** Lists tell what exactly a ready row waits for. */
function stateOf(shown: string): string {
  return ['waiting', 'retrying', 'unmapped', 'held'].includes(shown) ? 'ready' : shown
}
