import type { Config } from '../../config/config.ts'
import { msFromTime } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { PartReader } from '../../store/engine/part-reader.ts'
import type { Health } from '../../store/upkeep/health.ts'
import { conflictsAndUnreadable } from '../alarms/watch-accounts.ts'
import { clocksDisagree } from '../alarms/watch-clocks.ts'
import { type FetchMode, unlistedHosts } from '../alarms/watch-documents.ts'
import { divergence } from '../alarms/watch-log.ts'
import { retentionProblems } from '../alarms/watch-upkeep.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import { type Problem, problemOf } from '../health/problem.ts'
import { type AlarmName, declared } from '../health/problems.ts'

/** If alarms were not evaluated for this many ms, assume that no process evaluates alarms. */
const UNWATCHED_MS = 90_000

/**
 * @returns the current problems that have an alarm, from two sources:
 * - Stored alarms that fire. Some also count while they are pending; see `needsAttentionEarly`.
 * - Checks that this function makes in the database now, even if no process evaluates alarms.
 */
export async function knownProblems(
  q: Query,
  config: Pick<Config, 'destinations'> & FetchMode,
  health: Health,
  parts = new PartReader(q.clock),
): Promise<Problem[]> {
  const nowMs = q.clock.now()
  const isWatched = health.alarmsAt !== null && Math.abs(nowMs - msFromTime(health.alarmsAt)) < UNWATCHED_MS
  const here: Problem[] = []
  const evaluated = new Set<string>()
  const read = async (part: string, names: readonly AlarmName[], ask: () => Promise<Problem[]>) => {
    const found = await parts.read(part, ask, null)
    if (found === null) return
    here.push(...found)
    for (const name of names) evaluated.add(name)
  }
  // If a process evaluates alarms, use its stored result, because that process also knows the services' clocks.
  if (!isWatched) await read('clocks', ['clocks_disagree'], async () => [clocksDisagree(await compareClocks(q), config)])
  await read('log epochs', ['log_divergence'], () => divergence(q))
  await read('retention', ['retention_waits', 'retention_late'], () => retentionProblems(q, nowMs))
  await read('documents', ['document_host_unlisted'], () => unlistedHosts(q, config))
  for (const { account } of health.accounts)
    await read(`conflicts of account ${account}`, ['record_conflict', 'items_unreadable'], () => conflictsAndUnreadable(account, q, nowMs))
  const stored = health.alarms.filter(
    ({ name, state }) => !evaluated.has(name) && (state === 'firing' || (isWatched && declared(name).needsAttentionEarly === true)),
  )
  return [...stored.map(problemOf), ...here.filter(({ level }) => level === 'on')]
}
