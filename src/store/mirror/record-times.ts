import { marketEvents } from '../../model/entities/market-events.ts'
import { threadMessages } from '../../model/entities/thread-messages.ts'
import type { Row } from '../../model/entity.ts'
import { keyText } from '../../model/row-key.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query, TableSpec } from '../engine/db.ts'
import { relationOf, specOf } from '../schema/table.ts'

const events = specOf(relationOf(marketEvents), 'account', 'submission_id', 'event_id', 'type', 'occurred_at')
const messages = specOf(relationOf(threadMessages), 'account', 'submission_id', 'message_id', 'occurred_at')

/** Names a row of the mirror as the change log does. */
export interface RecordName {
  readonly account: string
  readonly entity: string
  /** The key without `account`, as JSON array text. */
  readonly entity_id: string
}

/** When an event or message occurred, and the type of the event. `type` is null for a message. */
export interface RecordTime {
  readonly occurredAt: TimeText
  readonly type: string | null
}

/**
 * Reads the times of events, messages, and attachments. An attachment has the time of its message.
 * @returns the time of each record that the mirror has. Map key: the text that `recordText` returns.
 */
export async function recordTimes(q: Query, records: readonly RecordName[]): Promise<ReadonlyMap<string, RecordTime>> {
  const times = new Map<string, RecordTime>()
  for (const spec of [events, messages]) {
    const wanted = new Map<string, { key: Row; records: RecordName[] }>()
    for (const record of records) {
      const key = keyIn(spec, record)
      if (key === null) continue
      const entry = wanted.get(keyText(spec, key)) ?? { key, records: [] }
      entry.records.push(record)
      wanted.set(keyText(spec, key), entry)
    }
    const keys = [...wanted.values()].map((entry) => entry.key)
    for (const row of await q.selectMany(spec, keys)) {
      const time = { occurredAt: String(row['occurred_at']), type: row['type'] === undefined ? null : String(row['type']) }
      for (const record of wanted.get(keyText(spec, row))?.records ?? []) times.set(recordText(record), time)
    }
  }
  return times
}

/** @returns a text for the record, to use as a map key. */
export function recordText(record: RecordName): string {
  return JSON.stringify([record.account, record.entity, record.entity_id])
}

/**
 * @returns the key of the record's row in table `spec`; for an attachment, the key of its message's row;
 * null if the row is in another table.
 */
function keyIn(spec: TableSpec, record: RecordName): Row | null {
  const owner = record.entity === 'thread_attachments' ? 'thread_messages' : record.entity
  if (owner !== spec.table) return null
  const [submissionId = null, id = null] = JSON.parse(record.entity_id) as (string | null)[]
  return { account: record.account, submission_id: submissionId, [spec.key[2] ?? '']: id }
}
