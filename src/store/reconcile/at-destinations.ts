import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { VerificationResult } from '../schema/push.ts'
import { isAnswered } from '../schema/push-states.ts'

/** What a destination took of an account, and what it answered when it was asked for that. */
export interface AtDestination extends Readonly<Record<VerificationResult, number>> {
  readonly destination: string
  /** Changes that it took, of those that retention keeps; sent again they count once. */
  readonly delivered: number
  /** Of those that it lacked, queued once more. */
  readonly repaired: number
  /** When the oldest and the newest of its answers came; null: nobody asked. */
  readonly oldest_at: TimeText | null
  readonly newest_at: TimeText | null
}

/** Every destination that took something of an account, or was asked for it. Counts all of that: for reports, not for a timer. */
export async function atDestinations(q: Query, account: string): Promise<AtDestination[]> {
  const of = (result: VerificationResult) => sql`sum(case when result = ${sql.lit(result)} then 1 else 0 end)`
  const { rows } = await sql<Record<keyof AtDestination, unknown>>`
    select d.destination, coalesce(o.delivered, 0) as delivered, coalesce(v.has, 0) as has, coalesce(v.lacks, 0) as lacks,
      coalesce(v.differs, 0) as differs, coalesce(v.cannot_tell, 0) as cannot_tell, coalesce(v.repaired, 0) as repaired, v.oldest_at, v.newest_at
    from sync_destinations d
    left join (
      select destination, count(distinct message_id) as delivered from sync_outbox
      where account = ${account} and state = 'delivered' group by destination) as o on o.destination = d.destination
    left join (
      select destination, ${of('has')} as has, ${of('lacks')} as lacks, ${of('differs')} as differs, ${of('cannot_tell')} as cannot_tell,
        count(repaired_at) as repaired, min(verified_at) as oldest_at, max(verified_at) as newest_at
      from sync_push_verifications v where account = ${account} and ${sql.raw(isAnswered)}
      group by destination) as v on v.destination = d.destination
    where o.delivered is not null or v.newest_at is not null
    order by d.destination`.execute(q.sql)
  return rows.map((row) => ({
    destination: String(row.destination),
    delivered: Number(row.delivered),
    has: Number(row.has),
    lacks: Number(row.lacks),
    differs: Number(row.differs),
    cannot_tell: Number(row.cannot_tell),
    repaired: Number(row.repaired),
    oldest_at: row.oldest_at as TimeText | null,
    newest_at: row.newest_at as TimeText | null,
  }))
}
