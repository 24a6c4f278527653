import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { parseTime } from '../../model/time.ts'
import { type FoundPlace, foundWithoutWebhook } from '../../store/completeness/found-without-webhook.ts'
import type { Db } from '../../store/engine/db.ts'
import { record, time } from '../output/schema.ts'
import { knownAccounts } from '../status/accounts.ts'
import { noCursor, ofAccount, page, pageOf, paging, placeIn } from './inputs.ts'
import { operation } from './operation.ts'

const found = record('FoundWithoutWebhook', {
  account: z.string(),
  submission_id: z.string(),
  insured_name: z.string().nullable(),
  entity: z.enum(['market_events', 'thread_messages']),
  record_id: z.string(),
  what: z.string().nullable().describe('event type or message kind'),
  market_name: z.string().nullable(),
  occurred_at: time.nullable(),
  known_at: time.describe('when a feed read found it'),
  known_via: z.string().describe('`poll`, `full_read` (a full re-read of the feed), `reconcile`'),
  lost: z.boolean().describe('its webhook did not arrive within `WEBHOOK_LOST_AFTER`'),
  before_tracked: z
    .boolean()
    .describe('it happened before the submission was tracked, so the service may have sent its webhook to another address'),
})

type Found = z.output<typeof found>

const lost = operation({
  name: 'inbox.lost',
  summary: 'list the newest events and messages that a feed read found without a webhook',
  description: 'Covers the newest 1,000 events and messages of each account that a feed read found before a webhook.',
  role: 'viewer',
  http: 'GET /found-without-webhook',
  input: z.strictObject({ account: ofAccount, ...paging }),
  output: pageOf(found),
  run: async (c, { account, limit, cursor }) => {
    const rows = await newestFound(c.db, c.config, { account, after: foundBefore(cursor), limit: limit + 1 })
    return page(rows, limit, ({ known_at, record_id }) => [known_at, record_id])
  },
  table: [
    'Found without a webhook, newest first',
    [
      ...(['known_at', 'known_via', 'occurred_at', 'insured_name', 'what', 'market_name', 'submission_id'] as const),
      ['webhook', (each) => (each.lost ? (each.before_tracked ? 'lost (before tracking)' : 'lost') : 'may still come')],
    ],
    'A webhook announced every event and message.',
  ],
})

function foundBefore(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [knownAt, recordId] = placeIn(cursor, ['string', 'string'])
  const known_at = parseTime(String(knownAt))
  if (known_at === null) throw noCursor()
  return { known_at, record_id: String(recordId) }
}

/**
 * @param account undefined for all accounts.
 * @param after position of the last record of the previous page.
 * @returns records that were found without a webhook, newest first.
 */
export async function newestFound(
  db: Db,
  { accounts, webhooks }: Pick<Config, 'accounts' | 'webhooks'>,
  { account, after, limit }: { account?: string | undefined; after?: FoundPlace | undefined; limit: number },
) {
  const found: Omit<Found, 'lost'>[] = []
  for (const { account: of } of await knownAccounts(db.read, accounts))
    if (account === undefined || account === of)
      found.push(...(await foundWithoutWebhook<Omit<Found, 'lost'>>(db.read, of, webhooks.lostAfterMs, limit, after)))
  const ripe = db.clock.now() - webhooks.lostAfterMs
  return found
    .sort((a, b) => (a.known_at === b.known_at ? (a.record_id < b.record_id ? -1 : 1) : a.known_at < b.known_at ? 1 : -1))
    .slice(0, limit)
    .map((each) => ({ ...each, lost: Date.parse(each.known_at) < ripe }))
}

export const operations = [lost]
