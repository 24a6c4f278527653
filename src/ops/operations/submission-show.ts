import { z } from 'zod'
import type { DestinationConfig } from '../../config/config.ts'
import type { Entity, Row } from '../../model/entity.ts'
import { rowKeyOf } from '../../model/row-key.ts'
import { listCompleteness } from '../../store/completeness/completeness.ts'
import type { Query } from '../../store/engine/db.ts'
import { openItemsOf, quotesOf } from '../../store/mirror/open-work.ts'
import { submissionItems } from '../../store/mirror/submission-items.ts'
import { clientsOf, extraReadsOf, freshnessOf, MOST_ROWS, reachedOf, wholeSubmission } from '../../store/mirror/whole-submission.ts'
import { atMoment } from '../actions/as-of.ts'
import { untrackedText } from '../actions/names.ts'
import type { Column } from '../output/columns.ts'
import { NotFoundError } from '../output/refusals.ts'
import { shortTime, when } from '../output/text.ts'
import { wordOf } from '../output/words.ts'
import { accountIn, atTime, count, oneSubmission } from './inputs.ts'
import { operation } from './operation.ts'
import type { Printer } from './printer.ts'
import { type openItem, type quoteOnBoard, submissionView } from './submission-answers.ts'

type View = z.output<typeof submissionView>
type Reached = Omit<View['reached'][number], 'mapping'>

const show = operation({
  name: 'submission.show',
  summary: 'show everything mirrored for a submission, its freshness and its last reconciliation',
  description:
    'Lanes, quotes, requirements, open items, applications, bind requests and documents; the timeline has events and messages. Personal values ' +
    'are masked except at the terminal. `GET /api/v1/rows/{table}/{key}` shows a row unmasked.',
  role: 'viewer',
  http: 'GET /submissions/:account/:submission_id',
  tool: 'get_submission',
  toolDefaults: { limit: 50 },
  input: z.strictObject({
    ...oneSubmission,
    ...atTime,
    limit: count(MOST_ROWS)
      .default(MOST_ROWS)
      .describe('maximum number of rows of each table; in the JSON, `cut` lists the tables with more'),
  }),
  argument: 'submission_id',
  output: submissionView,
  run: async (c, { submission_id: submissionId, limit, ...asked }) => {
    const account = await accountIn(c, asked.account)
    return await atMoment(c, { account, submissionId }, asked, async (rows, as_of) => ({
      as_of,
      ...(await submissionViewOf(rows, account, submissionId, { limit, destinations: c.config.destinations })),
      ...(as_of !== null && { completeness: null }),
    }))
  },
  print: printView,
})

function printView(to: Printer, { as_of, summary, hint, open_items, freshness, completeness }: z.output<typeof submissionView>): void {
  if (as_of !== null)
    to.sentence(`As of ${shortTime(as_of.at)} UTC (${as_of.by}). The earliest time that can be shown is ${shortTime(as_of.since)} UTC.\n`)
  const line = [wordOf(summary.stage), ...[summary.state, summary.effective_date].filter((each) => each !== null)].join(', ')
  to.line(`${summary.insured_name ?? 'without a name'}: ${line}\n`)
  const status: Column<View['summary']['lanes'][number]> = ['status', (lane) => lane.status_label ?? lane.status]
  if (hint !== null) to.sentence(`${hint}\n`)
  to.rows('Lanes', summary.lanes, ['market_name', 'category', status, 'chip'], 'No lanes.')
  const best = summary.best_quote
  to.line(`\nLowest quote: ${best === null ? 'none' : `${best.premium_display ?? best.total_cents} from ${best.market_name}`}\n`)
  to.rows('Open items', open_items, ['source', 'market_name', 'label', 'how_to_provide'], 'No open items.')
  if (as_of !== null) return
  to.line('')
  to.rows('Freshness', freshness, [['data', ({ read }) => wordOf(read)], 'last_read_at', 'last_changed_at'], 'Never read.')
  const without = completeness?.unconfirmed == null ? '' : `, except ${completeness.unconfirmed}`
  to.line(
    `\nLast reconciled: ${summary.reconciled_at === null ? 'never' : when(summary.reconciled_at, to.now)}${without}. All rows: --json.`,
  )
}

/**
 * @returns the mirrored data of a submission, without its timeline.
 * @param limit maximum rows per table.
 * @throws NotFoundError if the submission is not tracked in the account.
 */
export async function submissionViewOf(
  q: Query,
  account: string,
  submissionId: string,
  { limit, destinations }: { readonly limit: number; readonly destinations: readonly DestinationConfig[] },
) {
  const key = { account, submission_id: submissionId }
  const [summary] = await submissionItems(q, [key])
  if (summary === undefined) throw new NotFoundError([untrackedText(submissionId, account)])
  const [tables, freshness, [completeness], clients, open_items, quote_board, extraReads, reached] = await Promise.all([
    wholeSubmission(q, key),
    freshnessOf(q, key),
    listCompleteness(q, { account, submissionId }, 1),
    clientsOf<View['clients'][number]>(q, key),
    openItemsOf<z.output<typeof openItem>>(q, key),
    quotesOf<z.output<typeof quoteOnBoard>>(q, key),
    extraReadsOf(q, key),
    reachedOf<Reached>(q, key),
  ])
  return {
    summary,
    hint: hintFor(summary),
    tables: Object.fromEntries(tables.map(({ entity, rows }) => [entity.table, rows.slice(0, limit).map((row) => keyed(entity, row))])),
    cut: tables.filter(({ rows, isCut }) => isCut || rows.length > limit).map(({ entity }) => entity.table),
    freshness,
    completeness: completeness ?? null,
    clients,
    reached: ofOneAccount(reached, account, destinations),
    open_items,
    quote_board,
    extra_reads: extraReads.map((read) => ({
      ...read,
      row_key: rowKeyOf({ key: ['account', 'submission_id', 'name'] }, { ...key, ...read }),
    })),
  }
}

function hintFor({
  account,
  submission_id,
  unreachable_since,
}: Pick<View['summary'], 'account' | 'submission_id' | 'unreachable_since'>): string | null {
  if (unreachable_since === null) return null
  return (
    `The service does not know this submission (since ${shortTime(unreachable_since)} UTC). The mirror keeps its rows. If the id is wrong, ` +
    `remove it with \`submission-mirror purge ${submission_id} --account ${account}\`.`
  )
}

/**
 * @returns the account's destinations, and other destinations that have changes of the submission.
 * Adds the mapping mode of each destination.
 */
function ofOneAccount(reached: readonly Reached[], account: string, configured: readonly DestinationConfig[]) {
  return reached.flatMap((each) => {
    const settings = configured.find(({ name, accounts }) => name === each.destination && accounts.includes(account))
    const has = each.delivered + each.waiting + each.unmapped + each.held + each.dead + each.unknown + each.skipped > 0
    return settings === undefined && !has ? [] : [{ ...each, mapping: settings?.mapping ?? null }]
  })
}

function keyed(entity: Pick<Entity, 'key'>, row: Row) {
  return { row_key: rowKeyOf(entity, row), ...row }
}

export const operations = [show]
