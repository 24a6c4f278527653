import type { Config } from '../../config/config.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import type { Health } from '../../store/upkeep/health.ts'
import type { Condition } from '../alarms/condition.ts'
import { evidenceConditions } from '../alarms/watch-accounts.ts'
import { clocksDisagree, retentionConditions } from '../alarms/watch-clocks.ts'
import { type FetchMode, unnamedHosts } from '../alarms/watch-documents.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import type { Standing } from '../health/matters.ts'
import { type AlarmName, withAdvice } from '../health/rules.ts'

/** Alarms are evaluated every half minute. When they were not for this long, nobody watches. */
const UNWATCHED_MS = 90_000

const evaluatedHere: ReadonlySet<string> = new Set<AlarmName>([
  'clocks_disagree',
  'retention_waits',
  'retention_late',
  'document_host_unnamed',
  'record_conflict',
  'items_unreadable',
])

/**
 * @returns what holds of all that alarms are about: those that fire, and what the database alone tells now, though its alarm has not lasted
 * long enough to fire, or no process evaluates alarms.
 */
export async function standingConditions(db: Db, config: Pick<Config, 'destinations'> & FetchMode, health: Health): Promise<Standing[]> {
  const fire = health.alarms.filter(({ state, name }) => state === 'firing' && !evaluatedHere.has(name))
  const nowMs = db.clock.now()
  const evidence = await Promise.all(health.accounts.map(({ account }) => evidenceConditions(account, db.read, nowMs)))
  const here = [...(await retentionConditions(db.read, nowMs)), ...(await unnamedHosts(db.read, config)), ...evidence.flat()]
  return [...(await clocks(db, config, health)), ...fire.map(ofAlarm), ...here.flatMap(ofCondition)]
}

/** A process that evaluates alarms also knows the clocks of the services; without one, the database has to do. */
async function clocks(db: Db, config: Pick<Config, 'destinations'>, { alarms, alarmsAt }: Health): Promise<Standing[]> {
  const isWatched = alarmsAt !== null && Math.abs(db.clock.now() - msFromTime(alarmsAt)) < UNWATCHED_MS
  if (isWatched) return alarms.filter(({ name }) => name === 'clocks_disagree').map(ofAlarm)
  return ofCondition(clocksDisagree(await compareClocks(db), config))
}

function ofAlarm({ name, account, destination, since, text }: Health['alarms'][number]): Standing {
  return { name, account, destination, since, text, count: 1 }
}

function ofCondition({ name, account, destination, level, sinceMs, text, count = 1 }: Condition): Standing[] {
  return level === 'on'
    ? [{ name, account, destination, since: sinceMs === undefined ? null : timeFromMs(sinceMs), text: withAdvice(name, text), count }]
    : []
}
