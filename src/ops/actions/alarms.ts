import type { Config } from '../../config/config.ts'
import { auditAction, auditedDb } from '../../store/operators/actions.ts'
import { type AcknowledgeChoice, acknowledgeAlarms } from '../../store/operators/alarm-history.ts'
import { listAlarms } from '../../store/operators/alarms.ts'
import { type OperatorTest, operatorsOf } from '../alarms/operator-test.ts'
import { NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import type { ActionContext } from './context.ts'

/**
 * Sends test messages, and records that and which operators did not take one.
 * @param operator null for all. @param send sends them.
 * @throws NotFoundError when there is no such operator; then nothing is recorded.
 */
export async function auditedOperatorTests(
  a: Pick<ActionContext, 'db' | 'who'>,
  config: Pick<Config, 'operators'>,
  operator: string | null,
  send: () => Promise<OperatorTest[]>,
): Promise<OperatorTest[]> {
  operatorsOf(config, operator)
  const { tests } = await auditAction(a.db, { who: a.who, action: 'alarm.test', target: operator, detail: {} }, async () => {
    const made = await send()
    const refused = made.filter(({ ok }) => !ok).map((each) => each.operator)
    return { tests: made, detail: { sent: made.length, refused }, failed: refused.length > 0 }
  })
  return tests
}

/** What came of taking note of alarms. */
export interface Acknowledged {
  /** Alarms that fire and of which nobody had taken note. */
  readonly acknowledged: number
  /** Those of which somebody had. */
  readonly already: number
}

/**
 * Takes note of the alarms of a name that fire: they say by whom and when, and go on to fire and to be told.
 * @throws NotFoundError when no such alarm fires; then nothing is recorded.
 */
export async function acknowledge(a: ActionContext, choice: AcknowledgeChoice): Promise<Acknowledged> {
  const { name, account, destination } = choice
  const firing = (await listAlarms(a.db.read)).filter((each) => {
    const isOfChoice = (account ?? each.account) === each.account && (destination ?? each.destination) === each.destination
    return each.state === 'firing' && each.name === name && isOfChoice
  })
  if (firing.length === 0) throw new NotFoundError([`no alarm ${printableLine(name)} fires${ofWhat(account, destination)}`])
  if (firing.every((each) => each.acknowledged_at !== null)) return { acknowledged: 0, already: firing.length }
  const detail = { ...(account !== undefined && { account }), ...(destination !== undefined && { destination }) }
  const db = auditedDb(a.db, { who: a.who, action: 'alarm.acknowledge', target: name, detail })
  const acknowledged = await acknowledgeAlarms(db, choice, a.who)
  return { acknowledged, already: Math.max(0, firing.length - acknowledged) }
}

function ofWhat(account: string | undefined, destination: string | undefined): string {
  const of = [account && `account ${printableLine(account)}`, destination && `destination ${printableLine(destination)}`].filter(Boolean)
  return of.length === 0 ? '' : ` of ${of.join(' and ')}`
}
