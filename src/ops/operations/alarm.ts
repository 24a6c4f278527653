import { randomUUID } from 'node:crypto'
import { z } from 'zod'
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
import { type OperationContext, operation } from './operation.ts'

const acknowledged = {
  acknowledged_by: z.string().nullable().describe('null if unacknowledged'),
  acknowledged_at: time.nullable(),
}

const about = {
  name: z.string(),
  account: z.string().describe('empty if no account is affected'),
  destination: z.string().describe('empty if no destination is affected'),
  severity: z.enum(['warning', 'critical']),
  since: time.describe('when the condition began'),
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
  summary: 'list active alarms, and alert recipients who could not be notified',
  role: 'viewer',
  http: 'GET /alarms',
  input: z.strictObject({ all: z.boolean().default(false).describe('also resolved alarms') }),
  output: pageOf(alarm).extend({
    not_alerted: z.array(
      record('NotTold', {
        operator: z.string(),
        alarm: z.string(),
        // Mask the error, because it may repeat secrets that the recipient's server sent.
        error: hidden(z.string(), () => MASK),
      }),
    ),
  }),
  run: async (c, { all }) => {
    const alarms = (await listAlarms(c.db.read)).filter(({ state }) => state === 'firing' || (all && state === 'resolved'))
    const notices = await listNotices(c.db.read)
    const notAlerted = notices.flatMap(({ operator, name: of, error }) => (error === null ? [] : [{ operator, alarm: of, error }]))
    return { ...whole(alarms), not_alerted: notAlerted }
  },
  print: (to, { items, not_alerted }, { all }) => {
    const shown = items.map((each) => (each.state === 'firing' ? { ...each, resolved_at: null } : { ...each, since: null, text: null }))
    const rest = ['severity', 'account', 'destination', 'state', 'since', 'resolved_at', 'notified_at', 'acknowledged_by', 'text'] as const
    to.rows(all ? 'Active and resolved alarms' : 'Active alarms', shown, [['alarm', (each) => each.name], ...rest], 'No active alarms.')
    for (const { operator, alarm: of, error } of not_alerted)
      to.sentence(`warning: alert recipient ${operator} could not be notified of alarm ${of}: ${printableLine(error, 300)}`)
  },
})

const history = operation({
  name: 'alarm.history',
  summary: 'list when alarms fired and were resolved, newest first',
  description: 'Resolved alarms are kept for `CHANGES_RETENTION_DAYS`.',
  role: 'viewer',
  http: 'GET /alarms/history',
  takesAnyName: true,
  input: z.strictObject({
    name: name.optional().describe('only this alarm'),
    account: name.optional().describe('only about this account'),
    destination: name.optional().describe('only about this destination'),
    severity: about.severity.optional().describe('only of this severity'),
    ...period('fired'),
    ...paging,
  }),
  output: pageOf(
    record('AlarmEpisode', {
      episode_id: z.int().describe('numbered in firing order'),
      ...about,
      fired_at: time,
      resolved_at: time.nullable().describe('null while active'),
      ...acknowledged,
    }),
  ),
  run: async (c, { limit, cursor, ...chosen }) => {
    const rows = await listEpisodes(c.db.read, { ...filterOf(c, chosen), after: numberIn(cursor) }, limit + 1)
    return page(rows, limit, ({ episode_id }) => [episode_id])
  },
  table: [
    'Alarm history, newest first',
    [['alarm', (each) => each.name], 'severity', 'account', 'destination', 'fired_at', 'resolved_at', 'acknowledged_by', 'text'],
    'No alarms yet.',
  ],
})

const acknowledge = operation({
  name: 'alarm.acknowledge',
  summary: 'acknowledge an active alarm: it stays active and notifications continue',
  description: 'The alarm shows who acknowledged it and when. If it is resolved and fires again, it is unacknowledged.',
  role: 'operator',
  http: 'POST /alarms/acknowledge',
  takesAnyName: true,
  input: z.strictObject({
    name: name.describe('alarm name from the list; without account and destination, every alarm with that name'),
    account: name.optional().describe('only about this account'),
    destination: name.optional().describe('only about this destination'),
  }),
  argument: 'name',
  output: record('Acknowledged', {
    acknowledged: z.int().describe('alarms acknowledged now'),
    already: z.int().describe('alarms that were already acknowledged'),
  }),
  run: async (c, choice) => {
    const { name: of, account, destination } = choice
    const firing = (await listAlarms(c.db.read)).filter((each) => {
      const isOfChoice = (account ?? each.account) === each.account && (destination ?? each.destination) === each.destination
      return each.state === 'firing' && each.name === of && isOfChoice
    })
    if (firing.length === 0) throw new NotFoundError([`alarm ${printableLine(of)} is not active${scopeText(account, destination)}`])
    if (firing.every((each) => each.acknowledged_at !== null)) return { acknowledged: 0, already: firing.length }
    const detail = { ...(account !== undefined && { account }), ...(destination !== undefined && { destination }) }
    const db = auditedDb(c.db, { who: c.who, action: 'alarm.acknowledge', target: of, detail })
    const n = await acknowledgeAlarms(db, { name: of, account, destination }, c.who)
    return { acknowledged: n, already: Math.max(0, firing.length - n) }
  },
  print: (to, { acknowledged: n, already }) => {
    const before = already === 0 ? '' : ` (${already} already acknowledged)`
    to.line(`${pluralize(n, 'alarm')} acknowledged${before}. Alarms stay active until resolved.`)
  },
})

function scopeText(account: string | undefined, destination: string | undefined): string {
  const of = [account && `account ${printableLine(account)}`, destination && `destination ${printableLine(destination)}`].filter(Boolean)
  return of.length === 0 ? '' : ` for ${of.join(' and ')}`
}

const tried = record('OperatorTried', { operator: z.string(), ok: z.boolean(), text: z.string() })

const test = operation({
  name: 'alarm.test',
  summary: 'send a test message to alert recipients and print the result',
  role: 'operator',
  needs: 'settings',
  http: 'POST /alarms/test',
  input: z.strictObject({ operator: name.optional().describe('name of the alert recipient; all if omitted') }),
  argument: 'operator',
  output: pageOf(tried),
  exit: ({ items }) => (items.some(({ ok }) => !ok) ? 1 : 0),
  run: async (c, { operator = null }) => {
    const operators = operatorsOf(c.config, operator)
    const { tests } = await c.attempt({ action: 'alarm.test', target: operator, detail: {} }, async () => {
      const made = await testOperators(c, operators)
      const refused = made.filter(({ ok }) => !ok).map((each) => each.operator)
      return { tests: made, detail: { sent: made.length, refused }, failed: refused.length > 0 }
    })
    return whole(tests)
  },
  print: (to, { items }) => {
    for (const { operator, text } of items) to.line(`${operator}: ${text}`)
  },
})

async function testOperators({ config, clock, signal }: OperationContext, operators: Config['operators']) {
  const senders = new Senders(operators, { clock, proxy: proxySettings(config) })
  const tests: z.output<typeof tried>[] = []
  try {
    for (const operator of operators) {
      const result = await senders.send(operator, randomUUID(), JSON.stringify(testMessage(timeFromMs(clock.now()))), signal)
      const text = result.ok ? `accepted a test message${result.remark === undefined ? '' : `, ${result.remark}`}` : result.error
      tests.push({ operator: operator.name, ok: result.ok && result.remark === undefined, text: printableLine(text, 500) })
    }
  } finally {
    await senders.close()
  }
  return tests
}

/**
 * @param name null for all alert recipients.
 * @throws NotFoundError if no alert recipient is configured, or if none has this name.
 */
function operatorsOf({ operators }: Pick<Config, 'operators'>, name: string | null): Config['operators'] {
  if (operators.length === 0) throw new NotFoundError(['the settings have no alert recipients. List them in CONFIG_FILE under `operators`'])
  const found = operators.filter((operator) => name === null || operator.name === name)
  if (found.length > 0) return found
  const names = operators.map((operator) => operator.name)
  throw new NotFoundError([`the settings have no alert recipient ${JSON.stringify(name)}; ${meantOrListed(name ?? '', names)}`])
}

export const operations = [list, history, acknowledge, test]
