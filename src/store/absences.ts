import type { TimeText } from '../model/time.ts'
import type { Query } from './db.ts'

/** A record of a feed, as far as it matters whether the service still shows it. */
export interface Held {
  readonly id: string
  /** Of an attachment, whose `id` is its message's. */
  readonly position: number | null
  readonly firstSeenAt: TimeText | null
  readonly goneAt: TimeText | null
}

const PAGE = 1_000

/** Every event of a submission, page by page. */
export async function* heldEvents(q: Query, account: string, submissionId: string): AsyncGenerator<readonly Held[]> {
  for (let after = ''; ; ) {
    const rows = await q.sql
      .selectFrom('market_events')
      .select(['event_id as id', 'first_seen_at', 'gone_at'])
      .where('account', '=', account)
      .where('submission_id', '=', submissionId)
      .where('event_id', '>', after)
      .orderBy('event_id')
      .limit(PAGE)
      .execute()
    yield rows.map((row) => ({ id: row.id, position: null, firstSeenAt: row.first_seen_at, goneAt: row.gone_at }))
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last.id
  }
}

/** Every message of a submission, page by page, and what hangs on it. */
export async function* heldMessages(q: Query, account: string, submissionId: string): AsyncGenerator<readonly Held[]> {
  for (let after = ''; ; ) {
    const rows = await q.sql
      .selectFrom('thread_messages')
      .select(['message_id as id', 'first_seen_at', 'gone_at'])
      .where('account', '=', account)
      .where('submission_id', '=', submissionId)
      .where('message_id', '>', after)
      .orderBy('message_id')
      .limit(PAGE)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    const attachments = await q.sql
      .selectFrom('thread_attachments')
      .select(['message_id as id', 'position', 'gone_at'])
      .where('account', '=', account)
      .where('submission_id', '=', submissionId)
      .where('message_id', '>', after)
      .where('message_id', '<=', last.id)
      .orderBy('message_id')
      .orderBy('position')
      .execute()
    yield [
      ...rows.map((row) => ({ id: row.id, position: null, firstSeenAt: row.first_seen_at, goneAt: row.gone_at })),
      ...attachments.map((row) => ({ id: row.id, position: row.position, firstSeenAt: null, goneAt: row.gone_at })),
    ]
    if (rows.length < PAGE) return
    after = last.id
  }
}
