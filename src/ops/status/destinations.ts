import type { DestinationConfig } from '../../config/config.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { countDestinations, oldestQueued } from '../../store/outbox/destinations.ts'
import { countBlockedLanes } from '../../store/outbox/lanes.ts'
import type { DestinationState } from '../../store/schema/tables-push.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { pluralize } from '../output/text.ts'

/** A destination in numbers, for `status --json` and `destination list --json`. The names are part of the contract. */
export interface DestinationStatus {
  readonly destination: string
  /** null when the settings have none of this name any more. */
  readonly kind: DestinationConfig['kind'] | null
  /** null when it was not served yet. */
  readonly state: DestinationState | null
  readonly reason: string | null
  readonly since: TimeText | null
  /** The end of its rest; null when it does not rest. */
  readonly retry_at: TimeText | null
  /** The newest change that was fanned out to it. */
  readonly cursor: number | null
  /** Changes that wait to be sent, and since when the oldest does. */
  readonly queued: number
  readonly oldest_queued_at: TimeText | null
  readonly dead: number
  readonly unknown: number
  /** Submissions that wait for a client of the AMS. */
  readonly unmapped_lanes: number
  /** Submissions that a dead letter holds. */
  readonly held_lanes: number
  /** Changes of the log that are not yet queued for it; null when it was not served yet. */
  readonly behind: number | null
  /** Failures in a row. */
  readonly failures: number
  /** `open`: it rests after failures, and is tried again at `retry_at`. */
  readonly circuit: 'closed' | 'open'
  /** Attempts a second over all processes; null: no limit, or not in the settings. */
  readonly requests_per_second: number | null
  /** Attempts in flight in one process; null: not in the settings. */
  readonly concurrency: number | null
  /** Whether a submission needs a client of the AMS there, and if one is looked up; null: not in the settings. */
  readonly mapping: DestinationConfig['mapping'] | null
  /** What a submission's changes do behind one that was given up; null: not in the settings. */
  readonly on_dead: 'continue' | 'hold' | null
}

/** Every destination of the settings in their order, then those that only the database knows. */
export async function readPushStatus(q: Query, configured: readonly DestinationConfig[]): Promise<DestinationStatus[]> {
  const rows = new Map((await countDestinations(q)).map((row) => [row.destination, row]))
  const names = new Set([...configured.map(({ name }) => name), ...rows.keys()])
  const all: DestinationStatus[] = []
  const { lastSeq } = await changeLogEnds(q)
  // The store keeps the end of a rest that is over.
  const restOf = (end: TimeText | null) => (end !== null && msFromTime(end) > q.clock.now() ? end : null)
  for (const name of names) {
    const row = rows.get(name)
    const blocked = await countBlockedLanes(q, name)
    const settings = configured.find((each) => each.name === name)
    const retryAt = restOf(row?.retry_at ?? null)
    all.push({
      destination: name,
      kind: settings?.kind ?? null,
      ...{ state: row?.state ?? null, reason: row?.reason ?? null, since: row?.since ?? null, retry_at: retryAt },
      ...{ cursor: row?.cursor ?? null, queued: row?.queued ?? 0 },
      oldest_queued_at: row ? await oldestQueued(q, name) : null,
      ...{ dead: row?.dead ?? 0, unknown: row?.unknown ?? 0, unmapped_lanes: blocked.unmapped, held_lanes: blocked.held },
      behind: row ? Math.max(0, lastSeq - row.cursor) : null,
      ...{ failures: row?.failures ?? 0, circuit: retryAt === null ? ('closed' as const) : ('open' as const) },
      ...{ requests_per_second: settings?.rps ?? null, concurrency: settings?.concurrency ?? null },
      ...{ mapping: settings?.mapping ?? null, on_dead: settings?.onDead ?? null },
    })
  }
  return all
}

/** What an operator should know of a destination though it needs nobody now. */
export function destinationNotes({ destination, kind, queued }: DestinationStatus): string[] {
  if (kind !== null || queued === 0) return []
  return [
    `destination ${destination} is not in the settings any more, and ${pluralize(queued, 'change')} for it would wait for ever; put it back, ` +
      `or give them up with \`submission-mirror outbox skip --destination ${destination} --state ready\``,
  ]
}
