import { type RawBuilder, sql } from 'kysely'
import { detailReads } from '../../model/reads.ts'
import type { Db, Query } from '../engine/db.ts'
import { updateInPages } from '../engine/pages.ts'
import { dbTime, least } from '../engine/sql.ts'
import { rank } from './reads.ts'

/**
 * Maximum waits in ms for submissions that were active in the last `untilMs`. `pollMs`: until the next read of feeds
 * and requirements. `detailMs`: until other state reads. `fullReadMs`: until the next full re-read.
 */
export interface LongestWaits {
  readonly untilMs: number
  readonly pollMs: number
  readonly detailMs: number
  readonly fullReadMs: number
}

/**
 * Shortens waits that are longer than the settings allow. Skips failing reads, claimed reads, and reads by id.
 * @param longest maximum waits, by ascending `untilMs`. The last entry applies to all other submissions.
 */
export async function shortenWaits(db: Db, account: string, longest: readonly LongestWaits[], signal: AbortSignal): Promise<void> {
  const change = (q: Query) => {
    const share = q.clock.random()
    const isDetail = sql`read in (${sql.join(detailReads)})`
    /** SQL for the end of the maximum wait. The maximum depends on the last activity. */
    const end = (part: number, msOf: (waits: LongestWaits) => number) => {
      const arms = longest
        .slice(0, -1)
        .map((waits) => sql`when active_at > ${dbTime(q, -waits.untilMs)} then ${dbTime(q, msOf(waits) * part)}`)
      const others = longest.slice(-1).map((waits) => dbTime(q, msOf(waits) * part))
      return sql`case ${sql.join(arms, sql` `)} else ${sql.join(others)} end`
    }
    const poll = (part: number) =>
      sql`case when ${isDetail} then ${end(part, ({ detailMs }) => detailMs)} else ${end(part, ({ pollMs }) => pollMs)} end`
    const fullRead = (part: number) => end(part, ({ fullReadMs }) => fullReadMs)
    const isLate = sql`due_at > ${poll(1)}`
    const isFullReadLate = sql`full_read_due_at > ${fullRead(1)}`
    // A full re-read is part of a feed read. The feed read must therefore be due no later than the full re-read.
    const fullReadDue = sql`case when ${isFullReadLate} then ${fullRead(share)} else full_read_due_at end`
    const due = sql`case when ${isLate} then ${poll(share)} else due_at end`
    const set = sql`full_read_due_at = ${fullReadDue}, due_at = ${least(q, due, sql`coalesce(${fullReadDue}, due_at)`)}`
    return { where: sql`${isSettled} and rank <> ${sql.lit(rank.byId)} and (${isLate} or ${isFullReadLate})`, set }
  }
  const key = ['account', 'submission_id', 'id', 'read'] as const
  await updateInPages(db, 'read-shorten', { table: 'sync_reads', key: [...key], first: account, change }, signal)
}

/** Condition: the read isn't failing, and no process has claimed it. */
const isSettled: RawBuilder<unknown> = sql`lease_token is null and rank <> ${sql.lit(rank.failing)} and failures = 0 and not_found = 0 and stalled_feed_reads = 0`
