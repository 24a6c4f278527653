import { z } from 'zod'
import type { Query } from '../../store/engine/db.ts'
import { findDeliveriesFor, findPushesFor } from '../../store/mirror/search.ts'
import { submissionsPage } from '../actions/submissions-page.ts'
import { record, time } from '../output/schema.ts'
import { LONGEST_ID, pageOf, whole } from './inputs.ts'
import { operation } from './operation.ts'

const MOST_FOUND = 20

const found = record('Found', {
  kind: z.enum(['submission', 'delivery', 'push']),
  id: z.string().describe("a submission's id; the number of a delivery or a push"),
  account: z.string(),
  submission_id: z.string().nullable(),
  title: z.string().nullable().describe("the insured's name, the svix-id, the message id"),
  state: z.string().describe('where the submission stands; the state of the delivery or the push'),
  about: z.string().nullable().describe('the kind of the delivery, the destination of the push'),
  at: time.describe('when the submission last moved, the delivery came, the push was queued'),
})

type Found = z.output<typeof found>

/** Submissions by name, id, market or status, and deliveries and pushes by their ids. */
export async function searchAll(q: Query, text: string, limit: number) {
  const [submissions, deliveries, pushes] = await Promise.all([
    submissionsPage(q, { search: text, order: '-moved', limit }),
    findDeliveriesFor(q, text, limit),
    findPushesFor(q, text, limit),
  ])
  const all: Found[] = [
    ...deliveries.map((row): Found => {
      const { inbox_id, account, submission_id, delivery_id, state, kind, received_at } = row
      return { kind: 'delivery', id: String(inbox_id), account, submission_id, title: delivery_id, state, about: kind, at: received_at }
    }),
    ...pushes.map((row): Found => {
      const { outbox_id, account, submission_id, message_id, state, destination, queued_at } = row
      return { kind: 'push', id: String(outbox_id), account, submission_id, title: message_id, state, about: destination, at: queued_at }
    }),
    ...submissions.items.map((item): Found => {
      const { account, submission_id, insured_name, stage, moved_at } = item
      const about = { title: insured_name, state: stage, about: null, at: moved_at }
      return { kind: 'submission', id: submission_id, account, submission_id, ...about }
    }),
  ]
  return all.slice(0, limit)
}

/** `search` */
export const operations = [
  operation({
    name: 'search',
    summary: `find submissions, deliveries and pushes by id or name, at most ${MOST_FOUND}`,
    description:
      "Submissions by what words of the insured's name begin with, by the beginning of their id or of a market's name, or by the status of a " +
      'lane; deliveries by their whole svix-id or number, pushes by their whole message id or number.',
    role: 'viewer',
    http: 'GET /search',
    input: z.strictObject({
      q: z
        .string()
        .min(1)
        .max(LONGEST_ID)
        .meta({ description: 'what to look for', examples: ['bakery'] }),
    }),
    argument: 'q',
    output: pageOf(found),
    run: async (c, { q }) => whole(await searchAll(c.db.read, q.trim(), MOST_FOUND)),
    table: ['Found', ['kind', 'id', 'account', 'title', 'state', 'about', 'at'], 'Nothing is called that.'],
  }),
]
