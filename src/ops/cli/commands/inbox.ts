import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import { printable } from '../../../base/printable.ts'
import type { Query } from '../../../store/engine/db.ts'
import { type InboxEntry, type InboxFilter, listDeliveries } from '../../../store/inbox/queries.ts'
import { RejectedStore } from '../../../store/inbox/rejected.ts'
import { searchDeliveries } from '../../../store/inbox/search.ts'
import { withInsured } from '../../../store/mirror/insured.ts'
import { parseChoice, parseCount, parseMoment, parseSubmissionId } from '../../actions/arguments.ts'
import {
  type DeliveryChoice,
  rejectedFields,
  type ShownDelivery,
  type ShownRejected,
  showDeliveries,
  showRejected,
} from '../../actions/inbox.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { ago, printableLine } from '../../output/text.ts'
import { type CommandContext, printJson, printTable, withStore } from './context.ts'
import { addLost } from './inbox-lost.ts'
import { addReplay } from './inbox-replay.ts'
import { addSkip } from './inbox-skip.ts'

const STATES = ['ready', 'done', 'aside', 'dead'] as const
const MAX_LISTED = 10_000

interface ListOptions {
  readonly state?: string
  readonly account?: string
  readonly submission?: string
  readonly since?: string
  readonly until?: string
  readonly kind?: string
  readonly text?: string
  readonly rejected?: boolean
  readonly limit: string
  readonly json?: boolean
}

/** `inbox list|show|lost|replay|skip` */
export function addInbox(program: Command, c: CommandContext): void {
  const inbox = program.command('inbox').description('look at stored deliveries, work them again, or give them up')
  inbox
    .command('list')
    .description('list stored deliveries, the newest first')
    .option('--state <state>', STATES.join(', '))
    .option('--account <name>', 'only of this account')
    .option('--submission <id>', 'only of this submission')
    .option('--since <time>', 'only received since: a date, a date-time, or how long ago (2h, 7d)')
    .option('--until <time>', 'only received before')
    .option('--kind <type>', 'only of this type, like submission.events')
    .option('--text <part>', "only those with this part in their id, their error or their submission's id")
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
  addLost(inbox, c)
  addReplay(inbox, c)
  addSkip(inbox, c)
}

async function list(c: CommandContext, options: ListOptions): Promise<void> {
  const problems: string[] = []
  const filter: DeliveryChoice = {
    state: parseChoice(options.state, '--state', STATES, problems),
    account: options.account,
    submissionId: parseSubmissionId(options.submission, '--submission', problems),
    since: parseMoment(options.since, '--since', c.clock.now(), problems),
    until: parseMoment(options.until, '--until', c.clock.now(), problems),
    kind: options.kind,
    text: options.text,
  }
  const limit = parseCount(options.limit, '--limit', MAX_LISTED, problems)
  const { state, submission, kind, text } = options
  if (options.rejected && (state ?? submission ?? kind ?? text) !== undefined) {
    problems.push('--rejected: refused deliveries have no state, submission or type; leave --state, --submission, --kind and --text out')
  }
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db, log }) => {
    await refuseUnknownNames(db.read, config, filter)
    if (options.rejected) return listRejected(c, new RejectedStore(db, log), filter, limit, options.json ?? false)
    const deliveries = await found(db.read, filter, limit)
    if (options.json) return printJson(c, await withInsured(db.read, deliveries))
    const now = c.clock.now()
    const headings = [
      ...['number', 'delivery', 'account', 'received', 'state', 'kind', 'submission', 'tries'],
      { heading: 'error', fit: 'below' } as const,
    ]
    const rows = deliveries.map((d) => [
      ...[d.inbox_id, d.delivery_id, d.account, ago(d.received_at, now), d.state, d.kind, d.submission_id, d.attempts],
      d.error,
    ])
    printTable(c, { title: 'Deliveries, the newest first', headings, rows }, 'No delivery.')
  })
}

/** The newest that a filter finds, however many others are between them. */
async function found(q: Query, filter: DeliveryChoice, limit: number): Promise<readonly InboxEntry[]> {
  const { kind, text } = filter
  if (kind === undefined && text === undefined) return await listDeliveries(q, filter, limit)
  const items: InboxEntry[] = []
  for (let after: number | undefined; items.length < limit; ) {
    const page = await searchDeliveries(q, { ...filter, after }, { kind, text }, limit - items.length)
    items.push(...page.items)
    if (page.after === null) break
    after = page.after
  }
  return items
}

async function listRejected(c: CommandContext, store: RejectedStore, filter: InboxFilter, limit: number, json: boolean): Promise<void> {
  const { account, since = '', until = '9999' } = filter
  const all = await store.list({ limit: MAX_LISTED, ...(account !== undefined && { account }) })
  const rejected = all.filter((each) => each.receivedAt >= since && each.receivedAt < until).slice(0, limit)
  if (json) return printJson(c, rejected.map(rejectedFields))
  const now = c.clock.now()
  const headings = ['number', 'received', 'account', 'reason', 'address', 'path', 'bytes', 'replayed']
  const rows = rejected.map((r) => [
    ...[r.id, ago(r.receivedAt, now), r.account, r.reason, r.address, r.path, r.bodyBytes],
    r.replayedAt === null ? null : `${ago(r.replayedAt, now)} ago`,
  ])
  printTable(c, { title: 'Refused deliveries, the newest first', headings, rows }, 'No refused delivery.')
}

async function show(c: CommandContext, id: string, options: { rejected?: boolean; json?: boolean }): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db, log }) => {
    const found = options.rejected ? await showRejected(new RejectedStore(db, log), id) : await showDeliveries(db.read, id)
    if (found.length === 0) throw new UsageError([`there is no ${options.rejected ? 'refused ' : ''}delivery ${printableLine(id)}`])
    if (options.json) printJson(c, found)
    else c.host.stdout.write(found.map(textOf).join('\n'))
  })
}

function textOf({ headers, body, ...fields }: ShownDelivery | ShownRejected): string {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  const lines = Object.entries(fields).map(([name, value]) => `${name.padEnd(width)}  ${printableLine(String(value ?? '-'), 1_000)}`)
  return `${[...lines, '', printable(JSON.stringify(headers, null, 2)), '', printable(body ?? 'The body is not kept.')].join('\n')}\n`
}
