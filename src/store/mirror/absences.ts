import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'

/** A record of a feed, with what is needed to check whether the service still shows it. */
export interface Held {
  readonly id: string
  /** For an attachment, whose `id` is its message's. */
  readonly position: number | null
  /** For an attachment: the mirror has its message, which takes it along when it is gone. */
  readonly hangs: boolean
  readonly firstSeenAt: TimeText | null
  readonly goneAt: TimeText | null
}

const PAGE = 1_000

/** All events of a submission, page by page. */
export function heldEvents(q: Query, account: string, submissionId: string): AsyncGenerator<readonly Held[]> {
  return heldRecords(q, account, submissionId, 'market_events', 'event_id')
}

/** All messages of a submission, page by page, then all attachments. */
export async function* heldMessages(q: Query, account: string, submissionId: string): AsyncGenerator<readonly Held[]> {
  yield* heldRecords(q, account, submissionId, 'thread_messages', 'message_id')
  yield* heldAttachments(q, account, submissionId)
}

async function* heldRecords(
  q: Query,
  account: string,
  submissionId: string,
  table: 'market_events' | 'thread_messages',
  key: 'event_id' | 'message_id',
): AsyncGenerator<readonly Held[]> {
  // The first page includes the empty id, which somebody may have written.
  for (let after = '', behind = '>='; ; behind = '>') {
    const { rows } = await sql<{ id: string; first_seen_at: TimeText | null; gone_at: TimeText | null }>`
      select ${sql.ref(key)} as id, first_seen_at, gone_at from ${sql.table(table)}
      where account = ${account} and submission_id = ${submissionId} and ${sql.ref(key)} ${sql.raw(behind)} ${after}
      order by ${sql.ref(key)} limit ${sql.lit(PAGE)}`.execute(q.sql)
    yield rows.map((row) => ({ id: row.id, position: null, hangs: false, firstSeenAt: row.first_seen_at, goneAt: row.gone_at }))
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last.id
  }
}

async function* heldAttachments(q: Query, account: string, submissionId: string): AsyncGenerator<readonly Held[]> {
  for (let after = { id: '', position: -1 }; ; ) {
    const { rows } = await sql<{ id: string; position: number; gone_at: TimeText | null; hangs: number }>`
      select a.message_id as id, a.position, a.gone_at, case when m.message_id is null then 0 else 1 end as hangs
      from thread_attachments a
      left join thread_messages m on m.account = a.account and m.submission_id = a.submission_id and m.message_id = a.message_id
      where a.account = ${account} and a.submission_id = ${submissionId} and (a.message_id, a.position) > (${after.id}, ${after.position})
      order by a.message_id, a.position limit ${sql.lit(PAGE)}`.execute(q.sql)
    yield rows.map((row) => ({
      id: row.id,
      position: row.position,
      hangs: Number(row.hangs) === 1,
      firstSeenAt: null,
      goneAt: row.gone_at,
    }))
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last
  }
}
