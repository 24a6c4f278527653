import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { VerificationResult } from '../schema/push.ts'
import { isAnswered } from '../schema/push-states.ts'

/**
 * Numbers of an account's changes at one destination: accepted changes, and verified changes for each verification
 * result.
 */
export interface AtDestination extends Readonly<Record<VerificationResult, number>> {
  readonly destination: string
  /**
   * Number of accepted changes whose outbox rows are still stored. A change that was sent again with the same
   * id counts once.
   */
  readonly delivered: number
  /** Number of changes that were missing at the destination and are queued again. */
  readonly repaired: number
  /** Times of the oldest and the newest verification answer; null if there is none. */
  readonly oldest_at: TimeText | null
  readonly newest_at: TimeText | null
}

/**
 * Lists every destination with accepted changes or verification answers of an account. Reads all rows of the account,
 * so call this for reports, not from a timer.
 */
export async function atDestinations(q: Query, account: string): Promise<AtDestination[]> {
  const of = (result: VerificationResult) => sql`sum(case when result = ${sql.lit(result)} then 1 else 0 end)`
  return await q.all(sql<AtDestination>`
    select d.destination, coalesce(o.delivered, 0) as delivered, coalesce(v.has, 0) as has, coalesce(v.lacks, 0) as lacks,
      coalesce(v.differs, 0) as differs, coalesce(v.undetermined, 0) as undetermined, coalesce(v.repaired, 0) as repaired, v.oldest_at, v.newest_at
    from sync_destinations d
    left join (
      select destination, count(distinct message_id) as delivered from sync_outbox
      where account = ${account} and state = 'delivered' group by destination) as o on o.destination = d.destination
    left join (
      select destination, ${of('has')} as has, ${of('lacks')} as lacks, ${of('differs')} as differs, ${of('undetermined')} as undetermined,
        count(repaired_at) as repaired, min(verified_at) as oldest_at, max(verified_at) as newest_at
      from sync_push_verifications v where account = ${account} and ${sql.raw(isAnswered)}
      group by destination) as v on v.destination = d.destination
    where o.delivered is not null or v.newest_at is not null
    order by d.destination`)
}
