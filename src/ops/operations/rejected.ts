import { z } from 'zod'
import { replayRejected } from '../../receive/replay-rejected.ts'
import type { Query } from '../../store/engine/db.ts'
import { InboxAppender } from '../../store/inbox/append.ts'
import { RejectedStore } from '../../store/inbox/rejected.ts'
import { withInsured } from '../../store/mirror/submissions.ts'
import { LastUses } from '../../store/reads/last-uses.ts'
import { readDelivery } from '../../upstream/webhook/delivery.ts'
import { DeliveryVerifier } from '../../upstream/webhook/signature.ts'
import { filterForAudit, idsForAudit } from '../actions/context.ts'
import { accountNamed } from '../actions/names.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { pluralize, printableLine } from '../output/text.ts'
import { deliveryText, keptBody, keptHeaders } from './delivery-parts.ts'
import { filterOf, name, numberIn, ofAccount, page, pageOf, paging, period, whole } from './inputs.ts'
import { operation } from './operation.ts'

const entry = z.object({
  rejected_id: z.int().describe('id of the rejected delivery, for commands'),
  account: z.string().nullable(),
  path: z.string(),
  address: z.string(),
  reason: z.string(),
  received_at: time,
  replayed_at: time.nullable(),
  body_bytes: z.int().nullable().describe('length of the body; null if it was not read'),
  body_cut: z.boolean().describe('the body is cut, so it cannot be verified again'),
})

const rejectedId = z.string().regex(/^\d{1,15}$/, 'is not a number')

const list = operation({
  name: 'rejected.list',
  command: 'inbox list --rejected',
  summary: 'list rejected deliveries with the reason of each, newest first',
  role: 'viewer',
  http: 'GET /rejected',
  input: z.strictObject({
    account: ofAccount,
    reason: name.optional().describe('only this reason'),
    open: z.boolean().default(false).describe('only deliveries that were not accepted later'),
    ...period('received'),
    ...paging,
  }),
  output: pageOf(
    entry
      .extend({
        kind: z.string().nullable().describe('type in the unverified body'),
        submission_id: z.string().nullable().describe('submission in the unverified body'),
        insured_name: z.string().nullable(),
      })
      .meta({ id: 'RejectedDelivery' }),
  ),
  run: async (c, { limit, cursor, open: isOpen, ...chosen }) => {
    const filter = { ...filterOf(c, chosen), isOpen, after: numberIn(cursor) }
    const store = new RejectedStore(c.db, c.log)
    const found = page(await store.list({ ...filter, limit: limit + 1 }), limit, ({ rejected_id }) => [rejected_id])
    return { ...found, items: await withAbout(c.db.read, store, found.items) }
  },
  table: [
    'Rejected deliveries, newest first',
    ['rejected_id', 'received_at', 'account', 'reason', 'kind', 'insured_name', 'address', 'path', 'body_bytes', 'replayed_at'],
    'No rejected deliveries.',
  ],
})

/** Adds to each delivery its type and submission from the stored body, and its insured from the mirror. */
async function withAbout<T extends { readonly rejected_id: number; readonly account: string | null }>(
  q: Query,
  store: RejectedStore,
  rejected: readonly T[],
) {
  const bodies = await store.shortBodies(rejected.map(({ rejected_id }) => rejected_id))
  const about = rejected.map(({ rejected_id, account }) => {
    const body = bodies.get(rejected_id)
    const { type: kind, submissionIds } = body ? readDelivery(body) : { type: null, submissionIds: [] }
    return { account: account ?? '', kind, submission_id: submissionIds.length === 1 ? (submissionIds[0] ?? null) : null }
  })
  const named = await withInsured(q, about)
  return rejected.map((each, index) => ({
    ...each,
    ...(named[index] ?? { kind: null, submission_id: null, insured_name: null }),
    account: each.account,
  }))
}

const reasons = operation({
  name: 'rejected.reasons',
  command: 'inbox reasons',
  summary: 'count rejected deliveries by reason',
  role: 'viewer',
  http: 'GET /rejected/reasons',
  input: z.strictObject({ account: ofAccount }),
  output: pageOf(record('RejectedReason', { reason: z.string(), count: z.int(), newest_at: time })),
  run: async (c, { account }) => whole(await new RejectedStore(c.db, c.log).countByReason(account)),
  table: ['Rejected deliveries by reason', ['reason', ['deliveries', ({ count }) => count], 'newest_at'], 'No rejected deliveries.'],
})

const show = operation({
  name: 'rejected.show',
  command: 'inbox show --rejected',
  summary: 'show a rejected delivery with its headers and body',
  description: 'Viewing is recorded in `operator_actions`.',
  role: 'operator',
  http: 'GET /rejected/:id',
  input: z.strictObject({ id: rejectedId.describe('id in the list') }),
  argument: 'id',
  output: entry.extend({ headers: keptHeaders, body: keptBody }).meta({ id: 'RejectedDeliveryShown' }),
  shows: ({ account: of }, { id }) => ({ target: id, detail: { account: of } }),
  run: async (c, { id }) => {
    const found = await new RejectedStore(c.db, c.log).get(Number(id))
    if (found === null) throw new NotFoundError([`rejected delivery ${printableLine(id)} does not exist`])
    return { ...found, body: found.body?.toString('utf8') ?? null }
  },
  print: (to, rejected) => to.line(deliveryText(rejected)),
})

const replay = operation({
  name: 'rejected.replay',
  command: 'inbox replay --rejected',
  summary: 'verify rejected deliveries again after fixing a secret: those with these ids, or all',
  description: 'Verified deliveries are stored and applied. Their timestamp is compared with the time of receipt.',
  role: 'operator',
  needs: 'account',
  http: 'POST /rejected/replay',
  input: z
    .strictObject({
      ids: z.array(rejectedId).min(1).max(500).optional().describe('ids in the list'),
      account: ofAccount,
      ...period('received'),
    })
    .refine(({ ids, ...others }) => ids === undefined || Object.keys(others).length === 0, 'use account, since and until without ids'),
  argument: 'ids',
  output: record('RejectedReplayed', {
    accepted: z.int().describe('deliveries that verify now'),
    rejected: z.record(z.string(), z.int()).describe('deliveries still rejected, by reason'),
  }),
  run: async (c, given) => {
    if (given.account !== undefined) accountNamed(c.config, given.account, c.nameOf('account'))
    const { account: of, since, until } = filterOf(c, given)
    const store = new RejectedStore(c.db, c.log)
    for (const id of given.ids ?? []) await refuseSettled(store, id)
    const detail = given.ids === undefined ? filterForAudit({ since, until }) : idsForAudit(given.ids)
    const note = { action: 'rejected.replay', target: of ?? null, detail }
    const { accepted, rejected } = await c.attempt(note, async () => {
      const lastUses = new LastUses(c.db, c.log)
      const replayed = await replayRejected({
        store,
        appender: new InboxAppender(c.db),
        lastUses,
        ids: given.ids?.map(Number),
        verifiers: new Map(c.config.accounts.map(({ name: each, webhookSecrets }) => [each, new DeliveryVerifier(webhookSecrets)])),
        account: of,
        since,
        until,
      })
      await lastUses.write()
      return { ...replayed, detail: { accepted: replayed.accepted } }
    })
    return { accepted, rejected: { ...rejected } }
  },
  print: (to, { accepted, rejected }) => {
    to.line(
      `${pluralize(accepted, 'rejected delivery', 'rejected deliveries')} ${accepted === 1 ? 'was' : 'were'} verified and will be applied`,
    )
    for (const [reason, n] of Object.entries(rejected)) to.line(`${pluralize(n, 'delivery', 'deliveries')} still rejected: ${reason}`)
  },
})

/** @throws NotFoundError if the rejected delivery doesn't exist, ConflictError if it was already accepted. */
async function refuseSettled(store: RejectedStore, id: string): Promise<void> {
  const found = await store.get(Number(id))
  if (found === null) throw new NotFoundError([`rejected delivery ${id} does not exist`])
  if (found.replayed_at !== null) throw new ConflictError([`rejected delivery ${id} was already accepted`])
}

/** Operations of `inbox list|show|replay --rejected` and `inbox reasons`. */
export const operations = [list, reasons, show, replay]
