import { z } from 'zod'
import { listOpenWork, type OpenWorkPlace, openItemsOf, quotesOf } from '../../store/mirror/open-work.ts'
import { cursorOf, noCursor, ofAccount, ofSubmission, pageOf, paging, placeIn } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'
import { cents, openItem, quoteOnBoard } from './submission-answers.ts'

const SHORT_PAGES = 'A page can be short or empty; the list ends when `next_cursor` is null.'

const input = z.strictObject({ account: ofAccount, submission_id: ofSubmission, ...paging })

const whose = { account: z.string(), submission_id: z.string(), insured_name: z.string().nullable() }

async function pageFrom<T>(
  c: OperationContext,
  itemsOf: Parameters<typeof listOpenWork<T>>[1],
  { account, submission_id: submissionId, limit, cursor }: z.output<typeof input>,
) {
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

export const itemList = operation({
  name: 'item.list',
  summary: 'list items that the broker must supply, by submission',
  description: `Outstanding items, market requirements, and assumptions and contingencies of a bind. ${SHORT_PAGES}`,
  role: 'viewer',
  http: 'GET /open-items',
  tool: 'list_open_items',
  input,
  output: pageOf(listedItem),
  run: (c, given) => pageFrom(c, openItemsOf<z.output<typeof listedItem>>, given),
  table: ['Open items', ['submission_id', 'account', 'insured_name', 'source', 'market_name', 'label', 'how_to_provide'], 'No open items.'],
})

const listedQuote = quoteOnBoard
  .extend({
    ...whose,
    market_name: z.string().nullable(),
    program: z.string().nullable(),
    program_category: z.string().nullable(),
    status: z.string().nullable().describe('status of its lane'),
    status_label: z.string().nullable(),
    chip: z.string().nullable(),
    bound: z.boolean().nullable().describe('whether its lane is bound, at any quote'),
    premium_display: z.string().nullable().describe('for display only'),
    total_cents: cents.nullable(),
    lines: z.unknown().describe('lines of business, as a list of slugs'),
    is_revision: z.boolean().nullable(),
  })
  .meta({ id: 'ListedQuote' })

export const quoteList = operation({
  name: 'quote.list',
  summary: 'list current quotes by submission, lowest first',
  description:
    'Compare `total_cents` (US dollars × 100); `premium_display` is for display only. `may_be_superseded` is true if a revision was first seen ' +
    `later, \`is_bound_quote\` if the lane is bound at this quote; null means unknown. ${SHORT_PAGES}`,
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
    'No quotes.',
  ],
})

function yesOrNo(flag: boolean | null): string {
  return flag === null ? 'unknown' : flag ? 'yes' : 'no'
}
