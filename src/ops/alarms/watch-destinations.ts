import { msFromTime, type TimeText } from '../../model/time.ts'
import { logEnds } from '../../store/changes/log-info.ts'
import { countDestinations } from '../../store/outbox/destinations.ts'
import { type DestinationHealth, destinationHealth } from '../../store/upkeep/health.ts'
import { deadChanges, destinationStopped, lackingChanges, unknownChanges, unmappedSubmissions } from '../health/from-health.ts'
import { levelOf, type Problem, problem } from '../health/problem.ts'
import { ago } from '../output/text.ts'
import type { Watcher } from './watcher.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

export const PUSH_LATE_MS = 15 * MINUTE_MS
const NOT_LATE_MS = 5 * MINUTE_MS
/** For a paused destination, `destination_stopped` fires after this many ms, because the pause may be forgotten. */
const FORGOTTEN_MS = DAY_MS
/** `push_unmapped` fires if a submission has waited this many ms for an AMS client. Manual mapping takes time. */
const UNMAPPED_MS = DAY_MS

/** Watches whether each configured destination gets its changes. */
export const destinationWatcher: Watcher = {
  names: ['destination_stopped', 'filter_failed', 'push_late', 'push_unmapped', 'push_dead', 'push_unknown', 'destination_lacks'],
  async check({ q, config, nowMs }) {
    if (config.destinations.length === 0) return []
    const configured = new Set(config.destinations.map(({ name }) => name))
    const { last_seq } = await logEnds(q)
    const found: Problem[] = []
    for (const each of await countDestinations(q)) {
      if (!configured.has(each.destination)) continue
      const row = await destinationHealth(q, each, last_seq)
      const { destination, unmapped } = row
      found.push(...stopped(row, nowMs), ...deadChanges(destination, row.dead), ...unknownChanges(destination, row.unknown))
      found.push(...lackingChanges(destination, row.lacking), ...filterFailed(row))
      if (isFor(unmapped.oldest_at, UNMAPPED_MS, nowMs)) found.push(...unmappedSubmissions(destination, unmapped))
      // Skip stopped destinations and failing filters. `destination_stopped` and `filter_failed` report these.
      if (row.state === 'active' && row.filter_error === null) found.push(late(row, nowMs))
    }
    return found
  },
}

function isFor(since: TimeText | null, ms: number, nowMs: number): boolean {
  return since !== null && nowMs - msFromTime(since) >= ms
}

function stopped(row: DestinationHealth, nowMs: number): Problem[] {
  return row.state === 'paused' && !isFor(row.since, FORGOTTEN_MS, nowMs) ? [] : destinationStopped(row)
}

/** @returns the problem `filter_failed` with the error of the filter; an empty list if the filter works. */
export function filterFailed({
  destination,
  filter_error: error,
  filter_failed_at: since = null,
}: Pick<DestinationHealth, 'destination' | 'filter_error'> & Partial<Pick<DestinationHealth, 'filter_failed_at'>>): Problem[] {
  const text = `the filter of destination ${destination} fails, so its changes wait (${error})`
  return error === null ? [] : [problem('filter_failed', { destination, since }, 'on', text)]
}

function late({ destination, oldest_unsent_at: oldest }: DestinationHealth, nowMs: number): Problem {
  return problem(
    'push_late',
    { destination },
    levelOf(oldest === null ? 0 : nowMs - msFromTime(oldest), NOT_LATE_MS, PUSH_LATE_MS),
    `${pushLateText(destination, oldest, nowMs)}; \`submission-mirror doctor --destination ${destination}\` shows why`,
  )
}

export function pushLateText(destination: string, oldest: TimeText | null, nowMs: number): string {
  return `the oldest change for destination ${destination} has waited for ${ago(oldest, nowMs)}`
}
