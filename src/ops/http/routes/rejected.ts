import { z } from 'zod'
import { RejectedStore } from '../../../store/inbox/rejected.ts'
import { accountNamed } from '../../actions/accounts.ts'
import { rejectedFields, replayRefused, showRejected } from '../../actions/inbox.ts'
import { noteShowing } from '../../actions/showing.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { moment, momentOf, name, time } from '../../operations/inputs.ts'
import { NotFoundError } from '../../output/refusals.ts'
import { printableLine } from '../../output/text.ts'
import { answersAbout, answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { afterNumber, limit, page, pageOf, whole } from '../api/schemas.ts'

const entry = z
  .object({
    rejected_id: z.int(),
    account: z.string().nullable(),
    path: z.string(),
    address: z.string(),
    reason: z.string(),
    received_at: time,
    replayed_at: time.nullable(),
    body_bytes: z.int().nullable().meta({ description: 'how long its body was; null when it was not read' }),
    body_cut: z.boolean().meta({ description: 'only its beginning is kept, so it cannot be verified again' }),
  })
  .meta({ id: 'RefusedDelivery' })

const shown = entry.extend({ headers: z.record(z.string(), z.string()), body: z.string().nullable() }).meta({ id: 'RefusedDeliveryShown' })

const list = {
  summary: 'deliveries that were refused, with the reason, the newest first',
  tags: ['inbox'],
  querystring: z.strictObject({ account: name.optional(), reason: name.optional(), limit, after: afterNumber }),
  response: answersAbout('a page of refused deliveries', pageOf(entry)),
}

const reasons = {
  summary: 'why deliveries were refused: how many of those that are kept, by reason',
  tags: ['inbox'],
  querystring: z.strictObject({ account: name.optional() }),
  response: answersAbout(
    'all reasons, the most frequent first',
    pageOf(z.object({ reason: z.string(), count: z.int(), newest_at: time }).meta({ id: 'RefusedReason' })),
  ),
}

const show = {
  summary: 'a refused delivery with its headers and body',
  description: 'Who saw it is noted in `operator_actions`.',
  tags: ['inbox'],
  params: z.strictObject({ id: z.string().regex(/^\d{1,15}$/, 'is no number') }),
  response: answersAbout('the refused delivery', shown),
}

const replay = {
  summary: 'verify refused deliveries again, after a secret was mended',
  description: 'Those that verify now are stored and worked, their time judged by when they came.',
  tags: ['inbox'],
  body: z.strictObject({ account: name.optional(), since: moment.optional(), until: moment.optional() }).nullish(),
  response: answersOfAction(
    'how many verify now, and why the others do not',
    z.object({ accepted: z.int(), refused: z.record(z.string(), z.int()) }).meta({ id: 'RefusedReplayed' }),
  ),
}

/** `/rejected` */
export function addRejected(api: Api, p: AdminParts): void {
  const store = new RejectedStore(p.db, p.log)
  api.get('/rejected', { schema: list }, async ({ query }) => {
    const { account, reason, limit: max, after } = query
    await refuseUnknownNames(p.db.read, p.config(), { account })
    const rows = await store.list({ limit: max + 1, after, reason, ...(account !== undefined && { account }) })
    return page(rows.map(rejectedFields), max, (last) => last.rejected_id)
  })
  api.get('/rejected/reasons', { schema: reasons }, async ({ query: { account } }) => {
    await refuseUnknownNames(p.db.read, p.config(), { account })
    return whole(await store.countByReason(account))
  })
  api.get('/rejected/:id', { schema: show }, async (request) => {
    const { id } = request.params
    const [found] = await showRejected(store, id)
    if (!found) throw new NotFoundError([`there is no refused delivery ${printableLine(id)}`])
    await noteShowing(actionContextFor(p, request), 'rejected.show', id, { account: found.account })
    return found
  })
  api.post('/rejected/replay', { schema: replay }, async (request) => {
    const { account, since, until } = request.body ?? {}
    const { accounts } = p.config()
    const of = account === undefined ? undefined : accountNamed(p.config(), account, 'account').name
    const filter = { account: of, since: momentOf(p, since), until: momentOf(p, until) }
    const { accepted, refused } = await replayRefused(actionContextFor(p, request), p.log, accounts, filter)
    return { accepted, refused: { ...refused } }
  })
}
