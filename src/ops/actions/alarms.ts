import { auditedDb } from '../../store/operators/actions.ts'
import { type AcknowledgeChoice, acknowledgeAlarms } from '../../store/operators/alarm-history.ts'
import { listAlarms } from '../../store/operators/alarms.ts'
import { NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import type { ActionContext } from './context.ts'

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
