import type { KnownId, KnownKind } from '../../model/known-ids.ts'
import type { Query } from '../engine/db.ts'

/** @returns submissions of an account that the service shows, those in which something happened last before the others. */
export async function newestSubmissions(q: Query, account: string, limit: number): Promise<string[]> {
  const shown = q.sql
    .selectFrom('submissions')
    .select('submission_id')
    .where('account', '=', account)
    .where('unreachable_since', 'is', null)
  const moved = await shown.where('last_activity_at', 'is not', null).orderBy('last_activity_at', 'desc').limit(limit).execute()
  const others =
    moved.length === limit
      ? []
      : await shown
          .where('last_activity_at', 'is', null)
          .limit(limit - moved.length)
          .execute()
  return [...moved, ...others].map((row) => row.submission_id)
}

/** @returns ids of a kind that are known and could be read, or were not tried yet. */
export async function someKnownIds(q: Query, account: string, kind: KnownKind, limit: number): Promise<KnownId[]> {
  const rows = await q.sql
    .selectFrom('known_ids')
    .select(['kind', 'id', 'submission_id'])
    .where('account', '=', account)
    .where('kind', '=', kind)
    .where('error', 'is', null)
    .limit(limit)
    .execute()
  return rows.map((row) => ({ kind, id: row.id, submissionId: row.submission_id ?? '' }))
}

/** @returns bind requests of an account that were bound when they were read last. */
export async function boundRequests(q: Query, account: string, limit: number): Promise<KnownId[]> {
  const rows = await q.sql
    .selectFrom('bind_requests')
    .select(['bind_request_id', 'submission_id'])
    .where('account', '=', account)
    .where('status', '=', 'bound')
    .where('gone_at', 'is', null)
    .limit(limit)
    .execute()
  return rows.map((row) => ({ kind: 'bind_request', id: row.bind_request_id, submissionId: row.submission_id }))
}
