import { z } from 'zod'
import { searchAll } from '../../actions/search.ts'
import { deliveryId } from '../../operations/inputs.ts'
import { answers } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { found } from '../api/submission-schemas.ts'

const MOST_FOUND = 20

const search = {
  summary: 'submissions, deliveries and pushes by id or name, at most 20',
  description:
    "Submissions by what words of the insured's name begin with, by the beginning of their id or of a market's name, or by the status of a " +
    'lane; deliveries by their whole svix-id or number, pushes by their whole message id or number.',
  tags: ['search'],
  querystring: z.strictObject({ q: deliveryId.meta({ description: 'what to look for' }) }),
  response: answers('what was found', z.object({ items: z.array(found) })),
}

/** `GET /search` */
export function addSearch(api: Api, p: AdminParts): void {
  api.get('/search', { schema: search }, async ({ query }) => ({ items: await searchAll(p.db.read, query.q.trim(), MOST_FOUND) }))
}
