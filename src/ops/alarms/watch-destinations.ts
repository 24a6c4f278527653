import { earlierTime, msFromTime } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { oldestBehind, oldestBlocked, oldestSendable } from '../../store/operators/push-alarm-queries.ts'
import { type CountedDestination, countDestinations, type DestinationRow } from '../../store/outbox/destinations.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { ago, pluralize, shortTime } from '../output/text.ts'
import { type Condition, levelOf, ofDestination } from './condition.ts'
import { resumeHint } from './resume-hint.ts'
import type { Watcher } from './watcher.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const LATE_MS = 15 * MINUTE_MS
const NOT_LATE_MS = 5 * MINUTE_MS
/** A pause is on purpose; a longer one may have been forgotten. */
const FORGOTTEN_MS = DAY_MS
/** People map submissions, in the daytime. */
const UNMAPPED_MS = DAY_MS

/** Whether each configured destination gets its changes. */
export const destinationWatcher: Watcher = {
  names: ['destination_stopped', 'push_late', 'push_unmapped', 'push_dead', 'push_unknown'],
  async check({ q, config, nowMs }) {
    if (config.destinations.length === 0) return []
    const configured = new Set(config.destinations.map(({ name }) => name))
    const { lastSeq } = await changeLogEnds(q)
    const conditions: Condition[] = []
    for (const row of await countDestinations(q)) {
      if (!configured.has(row.destination)) continue
      conditions.push(stopped(row, nowMs), unsent(row, 'dead'), unsent(row, 'unknown'), await unmapped(q, row, nowMs))
      // Nothing goes out to a stopped destination: `destination_stopped` says so already.
      if (row.state === 'active') conditions.push(await late(q, row, lastSeq, nowMs))
    }
    return conditions
  },
}

function stopped({ destination, state, reason, since }: DestinationRow, nowMs: number): Condition {
  const sinceMs = since === null ? nowMs : msFromTime(since)
  const on = state === 'parked' || state === 'disabled' || (state === 'paused' && nowMs - sinceMs >= FORGOTTEN_MS)
  const mend = state === 'active' ? 'nothing to do' : resumeHint(destination, state)
  const text = `destination ${destination} is ${state}${since === null ? '' : ` since ${shortTime(since)} UTC`}: ${reason ?? 'no reason is kept'}; ${mend}`
  return ofDestination(destination, 'destination_stopped', on ? 'on' : 'off', text, sinceMs)
}

function unsent(row: CountedDestination, state: 'dead' | 'unknown'): Condition {
  const { destination } = row
  const list = `\`submission-mirror outbox list --destination ${destination} --state ${state}\``
  const text =
    state === 'dead'
      ? `${pluralize(row.dead, 'change')} for destination ${destination} ${row.dead === 1 ? 'was' : 'were'} given up; ${list} tells why; then retry or skip them`
      : `${pluralize(row.unknown, 'change')} for destination ${destination} may have arrived or not; look in the AMS for each of ${list}; then skip it, or retry it if it is not there`
  return ofDestination(destination, state === 'dead' ? 'push_dead' : 'push_unknown', row[state] > 0 ? 'on' : 'off', text)
}

async function unmapped(q: Query, { destination, queued }: CountedDestination, nowMs: number): Promise<Condition> {
  const oldest = queued === 0 ? null : await oldestBlocked(q, destination, 'unmapped')
  const waitsMs = oldest === null ? 0 : nowMs - msFromTime(oldest)
  return ofDestination(
    destination,
    'push_unmapped',
    waitsMs >= UNMAPPED_MS ? 'on' : 'off',
    `changes of submissions without a client of the AMS wait at destination ${destination}, the oldest for ${ago(oldest, nowMs)}; map them with ` +
      `\`submission-mirror destination map ${destination}\``,
  )
}

async function late(q: Query, { destination, queued, cursor }: CountedDestination, lastSeq: number, nowMs: number): Promise<Condition> {
  const unsent = queued === 0 ? null : await oldestSendable(q, destination)
  const behind = cursor < lastSeq ? await oldestBehind(q, cursor) : null
  const oldest = earlierTime(unsent, behind)
  const waitsMs = oldest === null ? 0 : nowMs - msFromTime(oldest)
  return ofDestination(
    destination,
    'push_late',
    levelOf(waitsMs, NOT_LATE_MS, LATE_MS),
    `the oldest change for destination ${destination} has waited for ${ago(oldest, nowMs)}; \`submission-mirror doctor --destination ${destination}\` says why`,
  )
}
