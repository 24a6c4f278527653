import type { Command } from 'commander'
import { parseUuid } from '../../../model/uuid.ts'
import { type SubmissionOrder, type SubmissionPlace, submissionOrders } from '../../../store/mirror/submission-list.ts'
import type { TimelinePlace } from '../../../store/mirror/timeline.ts'
import { parseChoice, parseCount } from '../../actions/arguments.ts'
import { submissionsPage, submissionView } from '../../actions/submission-views.ts'
import { timelinePage } from '../../actions/timeline.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { ago } from '../../output/text.ts'
import { accountOf, type CommandContext, type OpenStore, printJson, printTable, withStore } from './context.ts'

const MAX_LISTED = 10_000
/** Submissions, or items of a timeline, that are read together. */
const PAGE = 200

interface ListOptions {
  readonly search?: string
  readonly account?: string
  readonly market?: string
  readonly status?: string
  readonly stands?: string
  readonly sort?: string
  readonly limit: string
  readonly json?: boolean
}

interface OneOptions {
  readonly account?: string
  readonly json?: boolean
}

interface TimelineOptions extends OneOptions {
  readonly limit: string
}

/** `submission list|show|timeline` */
export function addSubmission(program: Command, c: CommandContext): void {
  const submission = program.command('submission').description('look at submissions as they are mirrored; personal values are masked')
  submission
    .command('list')
    .description('list submissions with where each stands, the one that moved last first')
    .option('--search <words>', "what words of the insured's name begin with, the beginning of an id or a market's name, or a status")
    .option('--account <name>', 'only of this account')
    .option('--market <name>', 'only those with a lane of a market whose name begins so')
    .option('--status <status>', 'only those with a lane of this status')
    .option('--stands <where>', 'only those that stand there, as the list shows it')
    .option('--sort <order>', submissionOrders.join(', '))
    .option('--limit <n>', 'how many at most', '50')
    .option('--json', 'as JSON, for programs')
    .action((options: ListOptions) => list(c, options))
  submission
    .command('show')
    .description('show everything that is mirrored of a submission, how fresh it is, and its last proof')
    .argument('<id>', 'of the submission')
    .option('--account <name>', 'the account it belongs to; the default account when left out')
    .option('--json', 'as JSON, for programs, with all rows')
    .action((id: string, options: OneOptions) => show(c, id, options))
  submission
    .command('timeline')
    .description('list what happened in a submission, the newest first: events, messages, changes of its state, pushes')
    .argument('<id>', 'of the submission')
    .option('--account <name>', 'the account it belongs to; the default account when left out')
    .option('--limit <n>', 'how many at most', '50')
    .option('--json', 'as JSON, for programs')
    .action((id: string, options: TimelineOptions) => timeline(c, id, options))
}

async function list(c: CommandContext, options: ListOptions): Promise<void> {
  const problems: string[] = []
  const { account, search, market, status, stands } = options
  const order: SubmissionOrder = parseChoice(options.sort, '--sort', submissionOrders, problems) ?? '-moved'
  const limit = parseCount(options.limit, '--limit', MAX_LISTED, problems)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    await refuseUnknownNames(db.read, config, { account })
    const filter = { account, search, market, status, stands, order }
    const items = await upTo(limit, (count, after: SubmissionPlace | undefined) =>
      submissionsPage(db.read, { ...filter, limit: count, after }),
    )
    if (options.json) return printJson(c, items)
    const now = c.clock.now()
    const headings = ['submission', 'account', 'insured', 'stands', 'best quote', 'open', 'moved', 'read', 'proved']
    const rows = items.map((one) => [
      ...[one.submission_id, one.account, one.insured_name, one.stands, one.best_quote?.premium_display, one.outstanding_count],
      ...[ago(one.moved_at, now), ago(one.oldest_read_at, now), ago(one.proved_at, now)],
    ])
    printTable(c, { title: 'Submissions', headings, rows }, 'No submission.')
  })
}

async function show(c: CommandContext, id: string, options: OneOptions): Promise<void> {
  await withOne(c, id, options, [], async ({ config, db }, account, submissionId) => {
    const view = await submissionView(db.read, account, submissionId, config.destinations)
    if (options.json) return printJson(c, view)
    const now = c.clock.now()
    const { summary } = view
    const line = [summary.stands, ...[summary.state, summary.effective_date].filter((each) => each !== null)].join(', ')
    c.host.stdout.write(`${summary.insured_name ?? 'without a name'}: ${line}\n\n`)
    printTable(
      c,
      {
        title: 'Lanes',
        headings: ['market', 'category', 'status', 'chip'],
        rows: summary.lanes.map((lane) => [lane.market_name, lane.category, lane.status_label ?? lane.status, lane.chip]),
      },
      'No lane.',
    )
    const best = summary.best_quote
    c.host.stdout.write(
      `\nBest quote: ${best === null ? 'none' : `${best.premium_display ?? best.total_cents} from ${best.market_name}`}\n\n`,
    )
    printTable(
      c,
      {
        title: 'Outstanding',
        headings: ['from', 'market', 'what', { heading: 'how', fit: 'below' }],
        rows: view.open_items.map((item) => [item.source, item.market_name, item.label, item.how_to_provide]),
      },
      'Nothing is outstanding.',
    )
    c.host.stdout.write('\n')
    const headings = ['read', 'last read ago', 'last changed ago']
    const rows = view.freshness.map((read) => [read.read, ago(read.last_read_at, now), ago(read.last_changed_at, now)])
    printTable(c, { title: 'Freshness', headings, rows }, 'Never read.')
    const proved = summary.proved_at === null ? 'never yet' : `${ago(summary.proved_at, now)} ago`
    c.host.stdout.write(`\nProved equal to the service: ${proved}. All rows: --json.\n`)
  })
}

async function timeline(c: CommandContext, id: string, options: TimelineOptions): Promise<void> {
  const problems: string[] = []
  const limit = parseCount(options.limit, '--limit', MAX_LISTED, problems)
  await withOne(c, id, options, problems, async ({ db }, account, submissionId) => {
    const items = await upTo(limit, (count, after: TimelinePlace | undefined) =>
      timelinePage(db.read, { account, submissionId, kinds: undefined, limit: count, after }),
    )
    if (options.json) return printJson(c, items)
    const now = c.clock.now()
    const rows = items.map((item) => [
      ago(item.at, now),
      item.kind,
      item.what,
      item.party,
      item.known_via ?? item.destination,
      item.summary ?? item.state,
    ])
    printTable(
      c,
      { title: 'Timeline, the newest first', headings: ['ago', 'kind', 'what', 'who', 'how', 'says'], rows },
      'Nothing has happened.',
    )
  })
}

async function withOne(
  c: CommandContext,
  text: string,
  options: OneOptions,
  problems: string[],
  work: (store: OpenStore, account: string, submissionId: string) => Promise<void>,
): Promise<void> {
  const submissionId = parseUuid(text)
  if (submissionId === null) problems.push(`${JSON.stringify(text)} is no submission id (a uuid)`)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async (store) => {
    const account = options.account ?? accountOf(store.config, undefined).name
    await refuseUnknownNames(store.db.read, store.config, { account })
    await work(store, account, submissionId ?? '')
  })
}

/** The first of a list that comes in pages. */
async function upTo<T, P>(
  limit: number,
  page: (count: number, after: P | undefined) => Promise<{ items: readonly T[]; next: P | null }>,
): Promise<T[]> {
  const all: T[] = []
  for (let after: P | undefined; all.length < limit; ) {
    const { items, next } = await page(Math.min(PAGE, limit - all.length), after)
    all.push(...items)
    if (next === null) break
    after = next
  }
  return all
}
