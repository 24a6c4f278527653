import { z } from 'zod'
import { findDeliveries, listDeliveries } from '../../../store/inbox/queries.ts'
import { searchDeliveries } from '../../../store/inbox/search.ts'
import { withInsured } from '../../../store/mirror/insured.ts'
import type { ActionContext } from '../../actions/context.ts'
import {
  changesBy,
  countChoice,
  replay as replayDeed,
  type StateChange,
  settleAll,
  settleIds,
  showDeliveries,
  skip as skipDeed,
} from '../../actions/inbox.ts'
import { noteShowing } from '../../actions/showing.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { moment, momentOf, name, submissionId, time } from '../../operations/inputs.ts'
import { NotFoundError } from '../../output/refusals.ts'
import { printableLine } from '../../output/text.ts'
import { answersAbout, answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { afterNumber, deliveryId, limit, page, pageOf, whole } from '../api/schemas.ts'

const states = ['ready', 'done', 'aside', 'dead'] as const

const entry = z.object({
  inbox_id: z.int().meta({ description: 'its number' }),
  delivery_id: z.string().meta({ description: 'the svix-id' }),
  account: z.string(),
  received_at: time,
  state: z.enum(states),
  kind: z.string().nullable(),
  submission_id: z.string().nullable(),
  attempts: z.int(),
  error: z.string().nullable(),
})

const listed = entry.extend({ insured_name: z.string().nullable().meta({ description: 'of its submission' }) }).meta({ id: 'Delivery' })

const shown = entry
  .extend({
    available_at: time,
    settled_at: time.nullable(),
    secret: z.int().meta({ description: "which of the account's webhook secrets verified it, from 1" }),
    headers: z.record(z.string(), z.string()),
    body: z.string().nullable().meta({ description: 'as it came; null when retention has taken it' }),
  })
  .meta({ id: 'DeliveryShown' })

const filters = {
  account: name.optional(),
  since: moment.optional(),
  until: moment.optional(),
  submission_id: submissionId.optional(),
  kind: name.optional().meta({ description: 'its type, like `submission.events`' }),
  text: name.optional().meta({ description: "a part of its svix-id, its error or its submission's id" }),
}

const listQuery = z.strictObject({
  state: z.enum(states).optional(),
  ...filters,
  limit,
  after: afterNumber,
})

function chosen(change: StateChange) {
  return z
    .strictObject({
      ids: z.array(deliveryId).min(1).max(500).optional().meta({ description: 'ids of deliveries, or their numbers' }),
      state: z.enum(change.states).optional().meta({ description: 'all deliveries in this state' }),
      ...filters,
      dry_run: z.boolean().default(false).meta({ description: 'only tell how many there are; nothing is changed' }),
    })
    .superRefine(({ dry_run: _, ids, ...filter }, context) => {
      const problem = wrongChoice(change, ids !== undefined, filter)
      if (problem !== null) context.addIssue(problem)
    })
}

/** A replay takes any filter, so that none at all is no slip of the hand; to give deliveries up one says that they are dead. */
function wrongChoice(change: StateChange, byIds: boolean, { state, ...narrowing }: Readonly<Record<string, unknown>>): string | null {
  const isNarrowed = Object.values(narrowing).some((each) => each !== undefined)
  if (change.name === 'skip') {
    if (byIds === (state !== undefined)) return 'give ids or state, and only one of them'
    return byIds && isNarrowed ? 'account, submission_id, kind, text, since and until go with state, not with ids' : null
  }
  return byIds === (state !== undefined || isNarrowed) ? 'give ids or a filter, and only one of them' : null
}

const list = {
  summary: 'stored deliveries, the newest first',
  description:
    'With `kind` or `text` it looks through some thousands at a time: a page may hold fewer than `limit`, even none, and there is a next one.',
  tags: ['inbox'],
  querystring: listQuery,
  response: answersAbout('a page of deliveries', pageOf(listed)),
}

const show = {
  summary: 'a delivery with its headers and body',
  description: 'The same svix-id may have come to several accounts, so this is a list. Who saw it is noted in `operator_actions`.',
  tags: ['inbox'],
  params: z.strictObject({ id: deliveryId.meta({ description: 'its svix-id, or its number' }) }),
  response: answersAbout('the deliveries of that id', pageOf(shown)),
}

const changed = z
  .object({ seq: z.int(), entity: z.string(), entity_id: z.string(), operation: z.string(), cause: z.string(), changed_at: time })
  .meta({ id: 'ChangeName', description: 'a change to the mirror, without its values' })

const became = {
  summary: 'what deliveries of that id became: the changes that webhooks made to their submission between their arrival and their settling',
  description: 'Another delivery of the same submission in that time is among them; no row notes which delivery changed it.',
  tags: ['inbox'],
  params: z.strictObject({ id: deliveryId.meta({ description: 'its svix-id, or its number' }) }),
  response: answersAbout(
    'for each delivery of that id, at most 200 changes',
    pageOf(z.object({ inbox_id: z.int(), account: z.string(), changes: z.array(changed) }).meta({ id: 'DeliveryBecame' })),
  ),
}

const replay = {
  summary: 'work stored deliveries again',
  description: 'Those of `ids`, or all that a filter finds as the list of deliveries does. Ask with `dry_run` first, which tells how many.',
  tags: ['inbox'],
  body: chosen(replayDeed),
  response: answersOfAction(
    'how many will be worked again, or with `dry_run` would be',
    z.object({ replayed: z.int() }).meta({ id: 'Replayed' }),
  ),
}

const skip = {
  summary: 'give dead deliveries up',
  description: 'They are set aside, and retention takes them in its time. Until then they can be replayed.',
  tags: ['inbox'],
  body: chosen(skipDeed),
  response: answersOfAction('how many were set aside, or with `dry_run` would be', z.object({ skipped: z.int() }).meta({ id: 'Skipped' })),
}

/** `/inbox` */
export function addInbox(api: Api, p: AdminParts): void {
  api.get('/inbox', { schema: list }, async ({ query }) => {
    const { state, account, submission_id, kind, text, since, until, limit: max, after } = query
    await refuseUnknownNames(p.db.read, p.config(), { account })
    const filter = { state, account, submissionId: submission_id, since: momentOf(p, since), until: momentOf(p, until), after }
    if (kind !== undefined || text !== undefined) {
      const found = await searchDeliveries(p.db.read, filter, { kind, text }, max)
      return { items: await withInsured(p.db.read, found.items), next: found.after === null ? null : String(found.after) }
    }
    const rows = await listDeliveries(p.db.read, filter, max + 1)
    return page(await withInsured(p.db.read, rows), max, (last) => last.inbox_id)
  })
  api.get('/inbox/:id', { schema: show }, async (request) => {
    const { id } = request.params
    const items = await showDeliveries(p.db.read, id)
    if (items.length === 0) throw new NotFoundError([`there is no delivery ${printableLine(id)}`])
    const shown = items.map(({ account, delivery_id, submission_id }) => ({ account, delivery_id, submission_id }))
    await noteShowing(actionContextFor(p, request), 'inbox.show', null, { deliveries: shown })
    return whole(items)
  })
  api.get('/inbox/:id/changes', { schema: became }, async ({ params }) => {
    const deliveries = await findDeliveries(p.db.read, params.id)
    if (deliveries.length === 0) throw new NotFoundError([`there is no delivery ${printableLine(params.id)}`])
    const items = []
    for (const delivery of deliveries) {
      const { inbox_id, account } = delivery
      items.push({ inbox_id, account, changes: await changesBy(p.db.read, delivery) })
    }
    return whole(items)
  })
  api.post('/inbox/replay', { schema: replay }, async (request) => {
    return { replayed: await settle(p, actionContextFor(p, request), replayDeed, request.body) }
  })
  api.post('/inbox/skip', { schema: skip }, async (request) => {
    return { skipped: await settle(p, actionContextFor(p, request), skipDeed, request.body) }
  })
}

async function settle(
  p: AdminParts,
  context: ActionContext,
  change: StateChange,
  choice: z.output<ReturnType<typeof chosen>>,
): Promise<number> {
  const { ids, state, account, submission_id: submissionId, kind, text, since, until, dry_run } = choice
  if (ids !== undefined) return await (dry_run ? countChoice(context, change, ids) : settleIds(context, change, ids))
  await refuseUnknownNames(p.db.read, p.config(), { account })
  const filter = { state, account, submissionId, kind, text, since: momentOf(p, since), until: momentOf(p, until) }
  return await (dry_run ? countChoice(context, change, filter) : settleAll(context, change, filter))
}
