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
  id: z.string().describe('id of the submission, or number of the delivery or push'),
  account: z.string(),
  submission_id: z.string().nullable(),
  title: z.string().nullable().describe('insured name, svix-id or message id'),
  state: z.string().describe('stage of the submission, or state of the delivery or push'),
  about: z.string().nullable().describe('kind of the delivery, or destination of the push'),
  at: time.describe('last activity of the submission, receipt of the delivery, or queueing of the push'),
})

type Found = z.output<typeof found>

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

export const operations = [
  operation({
    name: 'search',
    summary: `find submissions, deliveries and pushes by id or name, at most ${MOST_FOUND}`,
    description:
      'Finds submissions by first letters of words in the insured name, first characters of the id or a market name, or lane status; deliveries by complete ' +
      'svix-id or number; pushes by complete message id or number.',
    role: 'viewer',
    http: 'GET /search',
    input: z.strictObject({
      q: z
        .string()
        .min(1)
        .max(LONGEST_ID)
        .meta({ description: 'search text', examples: ['bakery'] }),
    }),
    argument: 'q',
    output: pageOf(found),
    run: async (c, { q }) => whole(await searchAll(c.db.read, q.trim(), MOST_FOUND)),
    table: ['Found', ['kind', 'id', 'account', 'title', 'state', 'about', 'at'], 'No matches.'],
  }),
]
