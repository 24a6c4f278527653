import { z } from 'zod'
import { listAlarms } from '../../../store/operators/alarms.ts'
import { auditedOperatorTests } from '../../actions/alarms.ts'
import { testOperators } from '../../alarms/operator-test.ts'
import { answers, answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { name, pageOf, time, whole } from '../api/schemas.ts'

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
  })
  .meta({ id: 'Alarm' })

const tried = z.object({ operator: z.string(), ok: z.boolean(), text: z.string() }).meta({ id: 'OperatorTried' })

const list = {
  summary: 'the alarms that fire',
  tags: ['alarms'],
  querystring: z.strictObject({ all: z.enum(['true', 'false']).default('false').meta({ description: 'also what is over' }) }),
  response: answers('the alarms', pageOf(alarm)),
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
  api.post('/alarms/test', { schema: test }, async (request) => {
    const operator = request.body?.operator ?? null
    const config = p.config()
    const send = () => testOperators(config, operator, p.clock, p.signal)
    return whole(await auditedOperatorTests(actionContextFor(p, request), config, operator, send))
  })
}
