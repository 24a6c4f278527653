import type { Command } from 'commander'
import { UsageError } from '../../errors.ts'
import { replayRejected } from '../../receive/replay-rejected.ts'
import type { Db } from '../../store/db.ts'
import { InboxAppender } from '../../store/inbox-append.ts'
import { findDeliveries, type InboxFilter, makeReady, replayDeliveries } from '../../store/inbox-queries.ts'
import { RejectedStore } from '../../store/rejected.ts'
import { DeliveryVerifier } from '../../upstream/signature.ts'
import { choiceIn, momentIn } from '../arguments.ts'
import { counted, printableLine } from '../text.ts'
import { accountOf, type CommandContext, type OpenStore, withStore } from './context.ts'

/** Deliveries in one transaction: few enough that a running serve does not wait. */
const STEP = 500
const PAUSE_MS = 10
const STATES = ['dead', 'aside'] as const

interface ReplayOptions {
  readonly state?: string
  readonly account?: string
  readonly since?: string
  readonly until?: string
  readonly rejected?: boolean
}

/** `inbox replay ID…|--state dead|aside` and `inbox replay --rejected` */
export function addReplay(inbox: Command, c: CommandContext): void {
  inbox
    .command('replay')
    .description('work stored deliveries again, or verify refused ones again after a secret was mended')
    .argument('[ids...]', 'ids of deliveries (svix-id), or their numbers in the list')
    .option('--state <state>', `all deliveries in this state: ${STATES.join(', ')}`)
    .option('--account <name>', 'only of this account')
    .option('--since <time>', 'only received since: a date, a date-time, or how long ago (2h, 7d)')
    .option('--until <time>', 'only received before')
    .option('--rejected', 'refused deliveries: those that verify now are stored, their time judged by when they came')
    .action((ids: string[], options: ReplayOptions) => replay(c, ids, options))
}

async function replay(c: CommandContext, ids: readonly string[], options: ReplayOptions): Promise<void> {
  const problems: string[] = []
  const filter: InboxFilter = {
    state: choiceIn(options.state, '--state', STATES, problems),
    account: options.account,
    since: momentIn(options.since, '--since', c.clock.now(), problems),
    until: momentIn(options.until, '--until', c.clock.now(), problems),
  }
  const ways = [ids.length > 0, options.state !== undefined, options.rejected === true].filter(Boolean).length
  if (ways !== 1) problems.push('inbox replay: give ids, or --state, or --rejected, and only one of them')
  if (ids.length > 0 && (options.account ?? options.since ?? options.until) !== undefined) {
    problems.push('inbox replay: --account, --since and --until go with --state or --rejected, not with ids')
  }
  const accounts = options.rejected ? 'needed' : 'optional'
  await withStore(c, { accounts, prepare: false, problems }, async (store) => {
    if (options.rejected) return replayRefused(c, store, filter)
    const replayed = ids.length > 0 ? await replayIds(store.db, ids) : await replayAll(c, store.db, filter)
    c.host.stdout.write(`${counted(replayed, 'delivery', 'deliveries')} will be worked again\n`)
  })
}

async function replayRefused(c: CommandContext, { config, db, log }: OpenStore, filter: InboxFilter): Promise<void> {
  const { account, since, until } = filter
  const { accepted, refused } = await replayRejected({
    store: new RejectedStore(db, log),
    appender: new InboxAppender(db),
    verifiers: new Map(config.accounts.map(({ name, webhookSecrets }) => [name, new DeliveryVerifier(webhookSecrets)])),
    ...(account !== undefined && { account: accountOf(config, account).name }),
    since,
    until,
  })
  c.host.stdout.write(`${counted(accepted, 'refused delivery', 'refused deliveries')} verified and will be worked\n`)
  for (const [reason, n] of Object.entries(refused)) c.host.stdout.write(`${n} still refused: ${reason}\n`)
}

async function replayIds(db: Db, ids: readonly string[]): Promise<number> {
  const found: number[] = []
  const unknown: string[] = []
  for (const id of ids) {
    const deliveries = await findDeliveries(db.read, id)
    if (deliveries.length === 0) unknown.push(`there is no delivery ${printableLine(id)}`)
    found.push(...deliveries.map((delivery) => delivery.inbox_id))
  }
  if (unknown.length > 0) throw new UsageError(unknown)
  return await makeReady(db, found)
}

async function replayAll(c: CommandContext, db: Db, filter: InboxFilter): Promise<number> {
  let replayed = 0
  for (let after: number | null = 0; after !== null; ) {
    const step: Awaited<ReturnType<typeof replayDeliveries>> = await replayDeliveries(db, filter, after, STEP)
    replayed += step.replayed
    after = step.nextAfter
    c.host.signal.throwIfAborted()
    if (after !== null) await c.clock.sleep(PAUSE_MS, c.host.signal)
  }
  return replayed
}
