import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'

/** Fields of a stored record that are needed to check if the service still shows the record. */
export interface StoredRecord {
  readonly id: string
  /** For an attachment: its position in the message; `id` is the id of the message. null for events and messages. */
  readonly position: number | null
  /**
   * For an attachment: true if the mirror has a row for its message. If the service no longer shows that message, only
   * the message is reported as absent, not the attachment.
   */
  readonly hasMessage: boolean
  readonly firstSeenAt: TimeText | null
  readonly goneAt: TimeText | null
}

const PAGE = 1_000

export function storedEvents(q: Query, account: string, submissionId: string): AsyncGenerator<readonly StoredRecord[]> {
  return pageRecords(q, account, submissionId, 'market_events', 'event_id')
}

/** Yields all messages of a submission, page by page, then all its attachments. */
export async function* storedMessages(q: Query, account: string, submissionId: string): AsyncGenerator<readonly StoredRecord[]> {
  yield* pageRecords(q, account, submissionId, 'thread_messages', 'message_id')
  yield* pageAttachments(q, account, submissionId)
}

async function* pageRecords(
  q: Query,
  account: string,
  submissionId: string,
  table: 'market_events' | 'thread_messages',
  key: 'event_id' | 'message_id',
): AsyncGenerator<readonly StoredRecord[]> {
  // `>=` also finds an empty id, which a damaged database may contain.
  for (let after = '', behind = '>='; ; behind = '>') {
    const rows = await q.all(sql<{ id: string; first_seen_at: TimeText | null; gone_at: TimeText | null }>`
      select ${sql.ref(key)} as id, first_seen_at, gone_at from ${sql.table(table)}
      where account = ${account} and submission_id = ${submissionId} and ${sql.ref(key)} ${sql.raw(behind)} ${after}
      order by ${sql.ref(key)} limit ${sql.lit(PAGE)}`)
    yield rows.map((row) => ({ id: row.id, position: null, hasMessage: false, firstSeenAt: row.first_seen_at, goneAt: row.gone_at }))
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last.id
  }
}

async function* pageAttachments(q: Query, account: string, submissionId: string): AsyncGenerator<readonly StoredRecord[]> {
  for (let after = { id: '', position: -1 }; ; ) {
    const rows = await q.all(sql<{ id: string; position: number; gone_at: TimeText | null; has_message: number }>`
      select a.message_id as id, a.position, a.gone_at, case when m.message_id is null then 0 else 1 end as has_message
      from thread_attachments a
      left join thread_messages m on m.account = a.account and m.submission_id = a.submission_id and m.message_id = a.message_id
      where a.account = ${account} and a.submission_id = ${submissionId} and (a.message_id, a.position) > (${after.id}, ${after.position})
      order by a.message_id, a.position limit ${sql.lit(PAGE)}`)
    yield rows.map(({ id, position, has_message, gone_at }) => {
      return { id, position, hasMessage: has_message === 1, firstSeenAt: null, goneAt: gone_at }
    })
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last
  }
}
