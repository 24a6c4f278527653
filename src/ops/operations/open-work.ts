import { z } from 'zod'
import { listOpenWork, type OpenWorkPlace, openItemsOf, quotesOf } from '../../store/mirror/open-work.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import { cursorOf, noCursor, ofAccount, ofSubmission, pageOf, paging, placeIn } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'
import { cents, openItem, quoteOnBoard } from './submission-answers.ts'

/** Lists that go from submission to submission: what is still missing, and who quoted what. */

const SHORT_PAGES = 'A page may be short, or empty; the list ends when `next_cursor` is null.'

const input = z.strictObject({
  account: ofAccount,
  submission_id: ofSubmission,
  ...paging,
})

const whose = { account: z.string(), submission_id: z.string(), insured_name: z.string().nullable() }

async function pageFrom<T>(
  c: OperationContext,
  itemsOf: Parameters<typeof listOpenWork<T>>[1],
  { account, submission_id: submissionId, limit, cursor }: z.output<typeof input>,
) {
  await refuseUnknownNames(c.db.read, c.config, { account })
  const { items, next } = await listOpenWork(c.db.read, itemsOf, { account, submissionId }, placeFrom(cursor), limit)
  return { items, next_cursor: next && cursorOf([next.account, next.submissionId, next.skip]) }
}

function placeFrom(cursor: string | undefined): OpenWorkPlace | null {
  if (cursor === undefined) return null
  const [account, submissionId, skip] = placeIn(cursor, ['string', 'string', 'number'])
  if (!Number.isSafeInteger(skip) || skip < 0) throw noCursor()
  return { account, submissionId, skip }
}

const listedItem = openItem.extend(whose).meta({ id: 'ListedOpenItem' })

/** `item list` */
export const itemList = operation({
  name: 'item.list',
  summary: 'list what the broker must still supply, submission by submission',
  description: `Outstanding items, what a market needs, assumptions to confirm and contingencies of a bind. ${SHORT_PAGES}`,
  role: 'viewer',
  http: 'GET /open-items',
  tool: 'list_open_items',
  input,
  output: pageOf(listedItem),
  run: (c, given) => pageFrom(c, openItemsOf<z.output<typeof listedItem>>, given),
  table: [
    'Open items',
    ['submission_id', 'account', 'insured_name', 'source', 'market_name', 'label', 'how_to_provide'],
    'Nothing is outstanding.',
  ],
})

const listedQuote = quoteOnBoard
  .extend({
    ...whose,
    market_name: z.string().nullable(),
    program: z.string().nullable(),
    program_category: z.string().nullable(),
    status: z.string().nullable().describe('of its lane'),
    status_label: z.string().nullable(),
    chip: z.string().nullable(),
    bound: z.boolean().nullable().describe('its lane is bound, at this quote or another'),
    premium_display: z.string().nullable().describe('to show, never to compute with'),
    total_cents: cents.nullable(),
    lines: z.unknown().describe('lines of business, a list of slugs'),
    is_revision: z.boolean().nullable(),
  })
  .meta({ id: 'ListedQuote' })

/** `quote list` */
export const quoteList = operation({
  name: 'quote.list',
  summary: 'list the quotes that are not gone, submission by submission, of each the lowest first',
  description:
    '`total_cents` is the number to compare (US dollars × 100); `premium_display` is only to show. `may_be_superseded` is true when a revision ' +
    `was first seen later, \`is_bound_quote\` when the lane is bound at this quote; null: it cannot be told. ${SHORT_PAGES}`,
  role: 'viewer',
  http: 'GET /quotes',
  tool: 'list_quotes',
  input,
  output: pageOf(listedQuote),
  run: (c, given) => pageFrom(c, quotesOf<z.output<typeof listedQuote>>, given),
  table: [
    'Quotes',
    [
      ...(['submission_id', 'account', 'insured_name', 'market_name'] as const),
      ['premium', (quote) => quote.premium_display ?? quote.total_cents],
      ['status', (quote) => quote.status_label ?? quote.status],
      ['superseded', (quote) => yesOrNo(quote.may_be_superseded)],
      ['bound', (quote) => yesOrNo(quote.is_bound_quote)],
    ],
    'No quote.',
  ],
})

function yesOrNo(flag: boolean | null): string {
  return flag === null ? 'cannot be told' : flag ? 'yes' : 'no'
}
