import { z } from 'zod'
import { listActions } from '../../../store/operators/actions.ts'
import { moment, momentOf, name, time } from '../../operations/inputs.ts'
import { answers } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { afterNumber, limit, page, pageOf } from '../api/schemas.ts'

const action = z
  .object({
    action_id: z.int(),
    at: time,
    who: z.string().meta({ description: 'the name of a token, `command`, or `signal`' }),
    action: z.string(),
    target: z.string().nullable(),
    detail: z.record(z.string(), z.unknown()),
    outcome: z.enum(['begun', 'done', 'failed']).meta({ description: '`begun`: under way, or its process died meanwhile' }),
  })
  .meta({ id: 'Action' })

const list = {
  summary: 'what operators did, by commands and by these routes, the newest first',
  tags: ['actions'],
  querystring: z.strictObject({ who: name.optional(), action: name.optional(), since: moment.optional(), limit, after: afterNumber }),
  response: answers('a page of actions', pageOf(action)),
}

/** `GET /actions` */
export function addActions(api: Api, p: AdminParts): void {
  api.get('/actions', { schema: list }, async ({ query }) => {
    const { who, action: what, since, limit: max, after } = query
    const rows = await listActions(p.db.read, { who, action: what, since: momentOf(p, since), after }, max + 1)
    return page(rows, max, (last) => last.action_id)
  })
}
