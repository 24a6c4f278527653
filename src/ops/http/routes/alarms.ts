import { z } from 'zod'
import { listEpisodes } from '../../../store/operators/alarm-history.ts'
import { listAlarms } from '../../../store/operators/alarms.ts'
import { acknowledge, auditedOperatorTests } from '../../actions/alarms.ts'
import { testOperators } from '../../alarms/operator-test.ts'
import { moment, momentOf, name, time } from '../../operations/inputs.ts'
import { answers, answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { afterNumber, limit, page, pageOf, whole } from '../api/schemas.ts'

const acknowledged = {
  acknowledged_by: z.string().nullable().meta({ description: 'who took note of it; null: nobody' }),
  acknowledged_at: time.nullable(),
}

const alarm = z
  .object({
    name: z.string(),
    account: z.string().meta({ description: 'empty when it is about no account' }),
    destination: z.string().meta({ description: 'empty when it is about no destination' }),
    state: z.enum(['pending', 'firing', 'resolved']),
    severity: z.enum(['warning', 'critical']),
    since: time,
    last_at: time,
    resolved_at: time.nullable(),
    text: z.string().meta({ description: 'what happened, and what to do' }),
    notified_at: time.nullable(),
    ...acknowledged,
  })
  .meta({ id: 'Alarm' })

const episode = z
  .object({
    episode_id: z.int().meta({ description: 'in the order in which they fired' }),
    ...{ name: alarm.shape.name, account: alarm.shape.account, destination: alarm.shape.destination, severity: alarm.shape.severity },
    since: time.meta({ description: 'since when it was so' }),
    fired_at: time,
    resolved_at: time.nullable().meta({ description: 'null while it fires' }),
    text: alarm.shape.text,
    ...acknowledged,
  })
  .meta({ id: 'AlarmEpisode' })

const tried = z.object({ operator: z.string(), ok: z.boolean(), text: z.string() }).meta({ id: 'OperatorTried' })

const list = {
  summary: 'the alarms that fire',
  tags: ['alarms'],
  querystring: z.strictObject({ all: z.enum(['true', 'false']).default('false').meta({ description: 'also what is over' }) }),
  response: answers('the alarms', pageOf(alarm)),
}

const history = {
  summary: 'when alarms fired and ended, the newest first',
  description: 'What is over is kept for `CHANGES_RETENTION_DAYS`.',
  tags: ['alarms'],
  querystring: z.strictObject({
    name: name.optional(),
    account: name.optional(),
    destination: name.optional(),
    severity: alarm.shape.severity.optional(),
    since: moment.optional().meta({ description: 'fired since' }),
    until: moment.optional().meta({ description: 'fired before' }),
    limit,
    after: afterNumber,
  }),
  response: answers('a page of times at which alarms fired', pageOf(episode)),
}

const acknowledging = {
  summary: 'take note of alarms that fire',
  description:
    'They say by whom and when, and go on to fire and to be told. When one is over and fires again, nobody has taken note of that.',
  tags: ['alarms'],
  body: z.strictObject({
    name,
    account: name.optional().meta({ description: 'all of that name when it and `destination` are left out' }),
    destination: name.optional(),
  }),
  response: answersOfAction(
    'of how many nobody had taken note, and of how many somebody had',
    z.object({ acknowledged: z.int(), already: z.int() }).meta({ id: 'Acknowledged' }),
  ),
}

const test = {
  summary: 'send a test message to operators, and tell what came of it',
  tags: ['alarms'],
  body: z.strictObject({ operator: name.optional().meta({ description: 'all of them when left out' }) }).nullish(),
  response: answersOfAction('what came of it, for each operator', pageOf(tried)),
}

/** `/alarms` */
export function addAlarms(api: Api, p: AdminParts): void {
  api.get('/alarms', { schema: list }, async ({ query }) => {
    const all = query.all === 'true'
    const rows = await listAlarms(p.db.read)
    return whole(rows.filter(({ state }) => state === 'firing' || (all && state === 'resolved')))
  })
  api.get('/alarms/history', { schema: history }, async ({ query }) => {
    const { limit: max, since, until, ...filter } = query
    const rows = await listEpisodes(p.db.read, { ...filter, since: momentOf(p, since), until: momentOf(p, until) }, max + 1)
    return page(rows, max, (last) => last.episode_id)
  })
  api.post('/alarms/acknowledge', { schema: acknowledging }, async (request) => {
    const { name: of, account, destination } = request.body
    return await acknowledge(actionContextFor(p, request), { name: of, account, destination })
  })
  api.post('/alarms/test', { schema: test }, async (request) => {
    const operator = request.body?.operator ?? null
    const config = p.config()
    const send = () => testOperators(config, operator, p.clock, p.signal)
    return whole(await auditedOperatorTests(actionContextFor(p, request), config, operator, send))
  })
}
