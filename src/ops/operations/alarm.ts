import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { meantOrListed } from '../../base/near-names.ts'
import { type Config, proxySettings } from '../../config/config.ts'
import { MASK } from '../../model/masking.ts'
import { timeFromMs } from '../../model/time.ts'
import { auditedDb } from '../../store/operators/actions.ts'
import { acknowledgeAlarms, listEpisodes } from '../../store/operators/alarm-history.ts'
import { listAlarms, listNotices } from '../../store/operators/alarms.ts'
import { testMessage } from '../alarms/message.ts'
import { Senders } from '../alarms/senders.ts'
import { NotFoundError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { pluralize, printableLine } from '../output/text.ts'
import { hidden } from './hidden.ts'
import { filterOf, name, numberIn, page, pageOf, paging, period, whole } from './inputs.ts'
import { operation } from './operation.ts'

const acknowledged = {
  acknowledged_by: z.string().nullable().describe('who took note of it; null: nobody'),
  acknowledged_at: time.nullable(),
}

const about = {
  name: z.string(),
  account: z.string().describe('empty when it is about no account'),
  destination: z.string().describe('empty when it is about no destination'),
  severity: z.enum(['warning', 'critical']),
  since: time.describe('since when it was so'),
  text: z.string().describe('what happened, and what to do'),
}

const alarm = record('Alarm', {
  ...about,
  state: z.enum(['pending', 'firing', 'resolved']),
  last_at: time,
  resolved_at: time.nullable(),
  notified_at: time.nullable(),
  ...acknowledged,
})

const list = operation({
  name: 'alarm.list',
  summary: 'list the alarms that fire, and which operators could not be told',
  role: 'viewer',
  http: 'GET /alarms',
  input: z.strictObject({ all: z.boolean().default(false).describe('also what is over') }),
  output: pageOf(alarm).extend({
    not_told: z.array(
      record('NotTold', {
        operator: z.string(),
        alarm: z.string(),
        // What an operator's server answered may repeat anything.
        error: hidden(z.string(), () => MASK),
      }),
    ),
  }),
  run: async (c, { all }) => {
    const alarms = (await listAlarms(c.db.read)).filter(({ state }) => state === 'firing' || (all && state === 'resolved'))
    const notices = await listNotices(c.db.read)
    const notTold = notices.flatMap(({ operator, name: of, error }) => (error === null ? [] : [{ operator, alarm: of, error }]))
    return { ...whole(alarms), not_told: notTold }
  },
  print: (to, { items, not_told }, { all }) => {
    const shown = items.map((each) => (each.state === 'firing' ? { ...each, resolved_at: null } : { ...each, since: null, text: null }))
    to.rows(
      all ? 'Alarms that fire or have ended' : 'Alarms that fire',
      shown,
      [
        ['alarm', (each) => each.name],
        'severity',
        'account',
        'destination',
        'state',
        'since',
        'resolved_at',
        'notified_at',
        'acknowledged_by',
        'text',
      ],
      'No alarm fires.',
    )
    for (const { operator, alarm: of, error } of not_told)
      to.sentence(`warning: operator ${operator} could not be told of alarm ${of}: ${printableLine(error, 300)}`)
  },
})

const history = operation({
  name: 'alarm.history',
  summary: 'list when alarms fired and ended, the newest first',
  description: 'What is over is kept for `CHANGES_RETENTION_DAYS`.',
  role: 'viewer',
  http: 'GET /alarms/history',
  input: z.strictObject({
    name: name.optional().describe('only of this alarm'),
    account: name.optional().describe('only about this account'),
    destination: name.optional().describe('only about this destination'),
    severity: about.severity.optional().describe('only of this severity'),
    ...period('what fired'),
    ...paging,
  }),
  output: pageOf(
    record('AlarmEpisode', {
      episode_id: z.int().describe('in the order in which they fired'),
      ...about,
      fired_at: time,
      resolved_at: time.nullable().describe('null while it fires'),
      ...acknowledged,
    }),
  ),
  run: async (c, { limit, cursor, ...chosen }) => {
    const rows = await listEpisodes(c.db.read, { ...filterOf(c, chosen), after: numberIn(cursor) }, limit + 1)
    return page(rows, limit, ({ episode_id }) => [episode_id])
  },
  table: [
    'When alarms fired, the newest first',
    [['alarm', (each) => each.name], 'severity', 'account', 'destination', 'fired_at', 'resolved_at', 'acknowledged_by', 'text'],
    'No alarm has fired.',
  ],
})

const acknowledge = operation({
  name: 'alarm.acknowledge',
  summary: 'take note of an alarm that fires: it says by whom and when, and goes on to fire and to be told',
  description: 'When it is over and fires again, nobody has taken note of that.',
  role: 'operator',
  http: 'POST /alarms/acknowledge',
  input: z.strictObject({
    name: name.describe('of the alarm, as the list shows it; all of that name when no account and no destination is given'),
    account: name.optional().describe('only about this account'),
    destination: name.optional().describe('only about this destination'),
  }),
  argument: 'name',
  output: record('Acknowledged', {
    acknowledged: z.int().describe('of how many nobody had taken note'),
    already: z.int().describe('of how many somebody had'),
  }),
  run: async (c, choice) => {
    const { name: of, account, destination } = choice
    const firing = (await listAlarms(c.db.read)).filter((each) => {
      const isOfChoice = (account ?? each.account) === each.account && (destination ?? each.destination) === each.destination
      return each.state === 'firing' && each.name === of && isOfChoice
    })
    if (firing.length === 0) throw new NotFoundError([`no alarm ${printableLine(of)} fires${ofWhat(account, destination)}`])
    if (firing.every((each) => each.acknowledged_at !== null)) return { acknowledged: 0, already: firing.length }
    const detail = { ...(account !== undefined && { account }), ...(destination !== undefined && { destination }) }
    const db = auditedDb(c.db, { who: c.who, action: 'alarm.acknowledge', target: of, detail })
    const n = await acknowledgeAlarms(db, { name: of, account, destination }, c.who)
    return { acknowledged: n, already: Math.max(0, firing.length - n) }
  },
  print: (to, { acknowledged: n, already }) => {
    const before = already === 0 ? '' : `, of ${already} somebody had before`
    to.line(`note taken of ${pluralize(n, 'alarm')}${before}; what fires goes on to fire`)
  },
})

function ofWhat(account: string | undefined, destination: string | undefined): string {
  const of = [account && `account ${printableLine(account)}`, destination && `destination ${printableLine(destination)}`].filter(Boolean)
  return of.length === 0 ? '' : ` of ${of.join(' and ')}`
}

const tried = record('OperatorTried', { operator: z.string(), ok: z.boolean(), text: z.string() })

const test = operation({
  name: 'alarm.test',
  summary: 'send a test message to operators, and tell what came of it',
  role: 'operator',
  needs: 'settings',
  http: 'POST /alarms/test',
  input: z.strictObject({ operator: name.optional().describe('the name of the operator; all of them when left out') }),
  argument: 'operator',
  output: pageOf(tried),
  exit: ({ items }) => (items.some(({ ok }) => !ok) ? 1 : 0),
  run: async (c, { operator = null }) => {
    // Before anything is noted: there must be such an operator.
    operatorsOf(c.config, operator)
    const { tests } = await c.attempt({ action: 'alarm.test', target: operator, detail: {} }, async () => {
      const made = await testOperators(c.config, operator, c.clock, c.signal)
      const refused = made.filter(({ ok }) => !ok).map((each) => each.operator)
      return { tests: made, detail: { sent: made.length, refused }, failed: refused.length > 0 }
    })
    return whole(tests)
  },
  print: (to, { items }) => {
    for (const { operator, text } of items) to.line(`operator ${operator}: ${text}`)
  },
})

/**
 * Sends a test message to one operator, or to all of them.
 * @param name null for all.
 * @throws UsageError when the settings have none, or none of that name.
 */
async function testOperators(config: Config, name: string | null, clock: Clock, signal: AbortSignal): Promise<z.output<typeof tried>[]> {
  const operators = operatorsOf(config, name)
  const senders = new Senders(operators, { clock, proxy: proxySettings(config) })
  const tests: z.output<typeof tried>[] = []
  try {
    for (const operator of operators) {
      const result = await senders.send(operator, randomUUID(), JSON.stringify(testMessage(timeFromMs(clock.now()))), signal)
      const text = result.ok ? `it took a test message${result.remark === undefined ? '' : `, ${result.remark}`}` : result.error
      tests.push({ operator: operator.name, ok: result.ok && result.remark === undefined, text: printableLine(text, 500) })
    }
  } finally {
    await senders.close()
  }
  return tests
}

/** One operator, or all of them. @throws NotFoundError when the settings have none, or none of that name. */
function operatorsOf({ operators }: Pick<Config, 'operators'>, name: string | null): Config['operators'] {
  if (operators.length === 0)
    throw new NotFoundError(['there are no operators in the settings; list them in CONFIG_FILE under `operators`'])
  const found = operators.filter((operator) => name === null || operator.name === name)
  if (found.length > 0) return found
  const names = operators.map((operator) => operator.name)
  throw new NotFoundError([`there is no operator ${JSON.stringify(name)} in the settings; ${meantOrListed(name ?? '', names)}`])
}

/** `alarm list|history|acknowledge|test` */
export const operations = [list, history, acknowledge, test]
