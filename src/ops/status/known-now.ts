import type { Config } from '../../config/config.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { PartReader } from '../../store/engine/part-reader.ts'
import type { Health } from '../../store/upkeep/health.ts'
import type { Condition } from '../alarms/condition.ts'
import { evidenceConditions } from '../alarms/watch-accounts.ts'
import { clocksDisagree, retentionConditions } from '../alarms/watch-clocks.ts'
import { type FetchMode, unnamedHosts } from '../alarms/watch-documents.ts'
import { divergenceConditions } from '../alarms/watch-log.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import type { Standing } from '../health/matters.ts'
import { type AlarmName, withAdvice } from '../health/rules.ts'

/** After this long without an evaluation of all alarms, no process evaluates them. */
const UNWATCHED_MS = 90_000

const evaluatedHere: ReadonlySet<string> = new Set<AlarmName>([
  'lost_branch',
  'clocks_disagree',
  'retention_waits',
  'retention_late',
  'document_host_unnamed',
  'record_conflict',
  'items_unreadable',
])

/** Alarms that need attention before they fire: the clocks are already wrong. */
const neededWhilePending: ReadonlySet<string> = new Set<AlarmName>(['clock_skew'])

/**
 * @returns what holds of all that alarms are about: those that fire, and what the database alone tells now, though its alarm has not lasted
 * long enough to fire, or no process evaluates alarms.
 */
export async function standingConditions(
  q: Query,
  config: Pick<Config, 'destinations'> & FetchMode,
  health: Health,
  parts = new PartReader(q.clock),
): Promise<Standing[]> {
  const nowMs = q.clock.now()
  const isWatched = health.alarmsAt !== null && Math.abs(nowMs - msFromTime(health.alarmsAt)) < UNWATCHED_MS
  const isNeeded = ({ state, name }: Health['alarms'][number]) => state === 'firing' || (isWatched && neededWhilePending.has(name))
  const fire = health.alarms.filter((alarm) => isNeeded(alarm) && !evaluatedHere.has(alarm.name))
  const here: Condition[] = []
  const read = async (part: string, ask: () => Promise<Condition[]>) => here.push(...(await parts.read(part, ask, [])))
  // A process that evaluates alarms also knows the clocks of the services; without one, the database has to do.
  if (!isWatched) await read('clocks', async () => [clocksDisagree(await compareClocks(q), config)])
  await read('log epochs', () => divergenceConditions(q))
  await read('retention', () => retentionConditions(q, nowMs))
  await read('documents', () => unnamedHosts(q, config))
  for (const { account } of health.accounts) await read(`evidence of account ${account}`, () => evidenceConditions(account, q, nowMs))
  const clocks = isWatched ? health.alarms.filter(({ name }) => name === 'clocks_disagree') : []
  return [...clocks.map(ofAlarm), ...fire.map(ofAlarm), ...here.flatMap(ofCondition)]
}

function ofAlarm({ name, account, destination, since, text }: Health['alarms'][number]): Standing {
  return { name, account, destination, since, text, count: 1 }
}

function ofCondition({ name, account, destination, level, sinceMs, text, count = 1 }: Condition): Standing[] {
  return level === 'on'
    ? [{ name, account, destination, since: sinceMs === undefined ? null : timeFromMs(sinceMs), text: withAdvice(name, text), count }]
    : []
}
