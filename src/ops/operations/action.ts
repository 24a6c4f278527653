import { z } from 'zod'
import { listActions } from '../../store/operators/actions.ts'
import { record, time } from '../output/schema.ts'
import { momentOf, name, numberIn, page, pageOf, paging, period } from './inputs.ts'
import { operation } from './operation.ts'

const action = record('Action', {
  action_id: z.int(),
  at: time,
  who: z.string().describe('a token name, `command`, or `signal`'),
  action: z.string(),
  target: z.string().nullable(),
  detail: z.record(z.string(), z.unknown()),
  outcome: z.enum(['begun', 'done', 'failed']).describe('`begun`: in progress, or its process died'),
})

const list = operation({
  name: 'action.list',
  summary: 'list operator actions from the terminal, HTTP and assistants, newest first',
  role: 'viewer',
  http: 'GET /actions',
  input: z.strictObject({
    who: name.optional().describe('only by this token, or `command` for the terminal'),
    action: name.optional().describe('only this action, such as outbox.retry'),
    since: period('done').since,
    ...paging,
  }),
  output: pageOf(action),
  run: async (c, { who, action: what, since, limit, cursor }) => {
    const filter = { who, action: what, since: momentOf(c, since), after: numberIn(cursor) }
    return page(await listActions(c.db.read, filter, limit + 1), limit, ({ action_id }) => [action_id])
  },
  table: ['Operator actions, newest first', ['at', 'who', 'action', 'target', 'outcome', 'detail'], 'No actions yet.'],
})

export const operations = [list]
