import { earlierTime, msFromTime } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { oldestBehind, oldestBlocked, oldestSendable } from '../../store/operators/push-alarm-queries.ts'
import { type CountedDestination, countDestinations, type DestinationRow } from '../../store/outbox/destinations.ts'
import { countBlockedLanes } from '../../store/outbox/lanes.ts'
import { lackingAt } from '../../store/outbox/verifications.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { destinationStopped, filterFailure, pile, pushLate } from '../health/matters.ts'
import type { NeedKind } from '../health/need-kinds.ts'
import { type Condition, levelOf, ofDestination, ofMatter } from './condition.ts'
import type { Watcher } from './watcher.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const NOT_LATE_MS = 5 * MINUTE_MS
/** A pause is on purpose; a longer one may have been forgotten. */
const FORGOTTEN_MS = DAY_MS
/** People map submissions, in the daytime. */
const UNMAPPED_MS = DAY_MS

/** Whether each configured destination gets its changes. */
export const destinationWatcher: Watcher = {
  names: ['destination_stopped', 'filter_failed', 'push_late', 'push_unmapped', 'push_dead', 'push_unknown', 'destination_lacks'],
  async check({ q, config, nowMs }) {
    if (config.destinations.length === 0) return []
    const configured = new Set(config.destinations.map(({ name }) => name))
    const { lastSeq } = await changeLogEnds(q)
    const conditions: Condition[] = []
    for (const row of await countDestinations(q)) {
      if (!configured.has(row.destination)) continue
      const { destination } = row
      const some = (kind: NeedKind, count: number) => pile(kind, { count, oldestAt: null }, { destination })
      conditions.push(stopped(row, nowMs), await unmapped(q, row, nowMs))
      conditions.push(ofMatter('push_dead', { destination }, some('dead_changes', row.dead)))
      conditions.push(ofMatter('push_unknown', { destination }, some('unknown_changes', row.unknown)))
      conditions.push(
        ofMatter('destination_lacks', { destination }, pile('lacking_changes', await lackingAt(q, destination), { destination })),
      )
      conditions.push(filterFailed(row))
      // Of these the alarms before say already that nothing goes out, or that nothing more is queued.
      if (row.state === 'active' && row.filter_error === null) conditions.push(await late(q, row, lastSeq, nowMs))
    }
    return conditions
  },
}

function stopped(row: DestinationRow, nowMs: number): Condition {
  const { destination, state, since } = row
  const isForgotten = state === 'paused' && since !== null && nowMs - msFromTime(since) >= FORGOTTEN_MS
  return ofMatter('destination_stopped', { destination }, state === 'paused' && !isForgotten ? [] : destinationStopped(row))
}

function filterFailed({ destination, filter_error: error, filter_failed_at: since }: DestinationRow): Condition {
  const text = filterFailure(destination, error ?? '')
  return ofDestination(destination, 'filter_failed', error !== null, text, since === null ? undefined : msFromTime(since))
}

async function unmapped(q: Query, { destination, queued }: CountedDestination, nowMs: number): Promise<Condition> {
  const oldest = queued === 0 ? null : await oldestBlocked(q, destination, 'unmapped')
  const isLong = oldest !== null && nowMs - msFromTime(oldest) >= UNMAPPED_MS
  const { unmapped: count } = isLong ? await countBlockedLanes(q, destination) : { unmapped: 0 }
  return ofMatter('push_unmapped', { destination }, pile('unmapped_submissions', { count, oldestAt: oldest }, { destination }))
}

async function late(q: Query, { destination, queued, cursor }: CountedDestination, lastSeq: number, nowMs: number): Promise<Condition> {
  const unsent = queued === 0 ? null : await oldestSendable(q, destination)
  const behind = cursor < lastSeq ? await oldestBehind(q, cursor) : null
  const oldest = earlierTime(unsent, behind)
  const waitsMs = oldest === null ? 0 : nowMs - msFromTime(oldest)
  return ofDestination(
    destination,
    'push_late',
    levelOf(waitsMs, NOT_LATE_MS, pushLate.fromMs),
    `${pushLate.text(destination, oldest, nowMs)}; \`submission-mirror doctor --destination ${destination}\` says why`,
  )
}
