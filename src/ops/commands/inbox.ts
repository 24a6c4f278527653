import type { Command } from 'commander'
import { UsageError } from '../../errors.ts'
import {
  findDeliveries,
  findRejected,
  type InboxDelivery,
  type InboxFilter,
  listDeliveries,
  listRejected,
  type RejectedDelivery,
} from '../../store/inbox-queries.ts'
import { choiceIn, countIn, momentIn, submissionIn } from '../arguments.ts'
import { table } from '../table.ts'
import { printable, printableLine, shortTime } from '../text.ts'
import { type CommandContext, printJson, withStore } from './context.ts'
import { addReplay } from './inbox-replay.ts'

const STATES = ['ready', 'done', 'aside', 'dead'] as const
const MAX_LISTED = 10_000

interface ListOptions {
  readonly state?: string
  readonly account?: string
  readonly submission?: string
  readonly since?: string
  readonly rejected?: boolean
  readonly limit: string
  readonly json?: boolean
}

/** `inbox list|show|replay` */
export function addInbox(program: Command, c: CommandContext): void {
  const inbox = program.command('inbox').description('look at stored deliveries, and work them again')
  inbox
    .command('list')
    .description('list stored deliveries, the newest first')
    .option('--state <state>', STATES.join(', '))
    .option('--account <name>', 'only of this account')
    .option('--submission <id>', 'only of this submission')
    .option('--since <time>', 'only received since: a date, a date-time, or how long ago (2h, 7d)')
    .option('--rejected', 'those that were refused, with the reason, in place of the stored ones')
    .option('--limit <n>', 'how many at most', '50')
    .option('--json', 'as JSON, for programs')
    .action((options: ListOptions) => list(c, options))
  inbox
    .command('show')
    .description('show a delivery with its headers and body')
    .argument('<id>', "the delivery's id (svix-id), or its number in the list")
    .option('--rejected', 'the number is that of a refused delivery')
    .option('--json', 'as JSON, for programs')
    .action((id: string, options: { rejected?: boolean; json?: boolean }) => show(c, id, options))
  addReplay(inbox, c)
}

async function list(c: CommandContext, options: ListOptions): Promise<void> {
  const problems: string[] = []
  const filter: InboxFilter = {
    state: choiceIn(options.state, '--state', STATES, problems),
    account: options.account,
    submissionId: submissionIn(options.submission, '--submission', problems),
    since: momentIn(options.since, '--since', c.clock.now(), problems),
  }
  const limit = countIn(options.limit, '--limit', MAX_LISTED, problems)
  if (options.rejected && (options.state !== undefined || options.submission !== undefined)) {
    problems.push('--rejected: refused deliveries have no state and no submission; leave --state and --submission out')
  }
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ db }) => {
    if (options.rejected) {
      const rejected = await listRejected(db.read, filter, limit)
      if (options.json) return printJson(c, rejected)
      const rows = rejected.map((r) => [
        r.rejected_id,
        shortTime(r.received_at),
        r.account,
        r.reason,
        r.address,
        r.path,
        shortTime(r.replayed_at),
      ])
      c.host.stdout.write(table(['number', 'received', 'account', 'reason', 'address', 'path', 'replayed'], rows))
      return
    }
    const deliveries = await listDeliveries(db.read, filter, limit)
    if (options.json) return printJson(c, deliveries)
    const rows = deliveries.map((d) => [
      d.inbox_id,
      d.delivery_id,
      d.account,
      shortTime(d.received_at),
      d.state,
      d.kind,
      d.submission_id,
      d.attempts,
      d.error,
    ])
    c.host.stdout.write(table(['number', 'delivery', 'account', 'received', 'state', 'kind', 'submission', 'tries', 'error'], rows))
  })
}

async function show(c: CommandContext, id: string, options: { rejected?: boolean; json?: boolean }): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const rejected = options.rejected ? await findRejected(db.read, id) : null
    const found = options.rejected ? (rejected === null ? [] : [rejected]) : await findDeliveries(db.read, id)
    if (found.length === 0) throw new UsageError([`there is no ${options.rejected ? 'refused ' : ''}delivery ${printableLine(id)}`])
    const shown = found.map((delivery) => ({ ...delivery, headers: JSON.parse(delivery.headers) as unknown, body: bodyText(delivery) }))
    if (options.json) return printJson(c, shown)
    c.host.stdout.write(found.map(textOf).join('\n'))
  })
}

/** A delivery's body as text; null when retention has taken it. */
function bodyText(delivery: InboxDelivery | RejectedDelivery): string | null {
  return delivery.body === null ? null : delivery.body.toString('utf8')
}

function textOf(delivery: InboxDelivery | RejectedDelivery): string {
  const { headers, body: _, ...fields } = delivery
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  const lines = Object.entries(fields).map(([name, value]) => `${name.padEnd(width)}  ${printableLine(String(value ?? '-'), 1_000)}`)
  return `${[...lines, '', printable(headers), '', printable(bodyText(delivery) ?? 'The body is no longer kept.')].join('\n')}\n`
}
