import type { DestinationConfig } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import { recordText, recordTimes } from '../../store/mirror/record-times.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import { wants } from '../queue/filter.ts'

/**
 * The rows that the filters of a destination let pass as they are now: what they leave out since is not asked for. What was sent once does
 * not become too old.
 */
export async function stillWanted(q: Query, destination: DestinationConfig, rows: readonly OutboxRow[]): Promise<OutboxRow[]> {
  const filters = { ...destination, maxAgeMs: null, backfill: true }
  const typeOf = await typesOf(q, destination, rows)
  return rows.filter(({ outboxId, account, entity, operation, cause, snapshot }) => {
    const eventType = typeOf.get(outboxId) ?? null
    return wants(filters, { account, entity, operation, cause, snapshot, eventType, occurredAt: null }, 0)
  })
}

/** The types of market events by `outboxId`, where a filter needs them. */
async function typesOf(
  q: Query,
  { eventTypes }: Pick<DestinationConfig, 'eventTypes'>,
  rows: readonly OutboxRow[],
): Promise<ReadonlyMap<number, string | null>> {
  if (eventTypes === null) return new Map()
  const events = rows
    .filter(({ entity }) => entity === 'market_events')
    .map(({ outboxId, account, entity, entityId }) => ({ outboxId, account, entity, entity_id: entityId }))
  const times = await recordTimes(q, events)
  return new Map(events.map((event) => [event.outboxId, times.get(recordText(event))?.type ?? null]))
}
