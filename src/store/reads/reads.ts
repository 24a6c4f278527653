import { type RawBuilder, sql } from 'kysely'
import type { Place } from '../../model/facts.ts'
import { detailReads, isDetail, type ReadKind, readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, greatest, least, timePlus, valuesTable } from '../engine/sql.ts'
import { syncReads } from '../schema/reads.ts'
import { specOf } from '../schema/table.ts'
import { withoutPurged } from './purged.ts'

/** Delay of a wake: deliveries of a burst arrive close together and share one walk. */
export const WAKE_DELAY_MS = 1_000
/** Delay of the reads beside the requirements view: those of a burst share one round, and the feeds go first. */
export const DETAIL_WAKE_DELAY_MS = 5_000
/** Replays requested by new lanes come at most this often per submission. */
export const REPLAY_COALESCE_MS = 60_000
/** Delay of another attempt when a delivery names something that the service did not find: no sooner than a second miss. */
export const LOOK_AGAIN_MS = 120_000

/** `live` goes first: somebody waits for it. `background`: state reads beside the requirements view, unless they were woken. */
export const rank = { live: 0, routine: 1, failing: 2, background: 3 } as const

const readsTable = specOf(syncReads)

/** Adds the reads of new submissions, due at once, but not of purged ones. Both feeds start from the beginning (trap 22). */
export async function addReads(tx: Tx, places: readonly Place[], now: string, live: boolean): Promise<void> {
  const kept = await withoutPurged(tx, places)
  const rows = kept.flatMap((place) =>
    readKinds.map((read) => ({
      account: place.account,
      submission_id: place.submissionId,
      read,
      rank: isDetail(read) ? rank.background : live ? rank.live : rank.routine,
      due_at: now,
      wake_no: 0,
      cursor_no: 0,
      issued_no: 0,
      applied_no: 0,
      active_at: now,
      failures: 0,
      not_found: 0,
      stalled_walks: 0,
    })),
  )
  await tx.insertMany(readsTable, rows, { ignore: true })
  wake(tx, 'reads')
}

/** A read that should come soon. */
export interface Wake extends Place {
  readonly read: ReadKind
}

/** When woken reads are due, and whether the wake counts as movement. */
export interface WakeOptions {
  readonly delayMs: number
  readonly moved: boolean
}

/**
 * Makes reads due soon. A read in flight comes again after it ends (`wake_no`). A failing read keeps its backoff, except one that got "not
 * found": the news may mean that the service shows it again, so it is tried again before long (trap 48).
 */
export async function wakeReads(
  tx: Tx,
  wakes: readonly Wake[],
  { delayMs, moved }: WakeOptions = { delayMs: WAKE_DELAY_MS, moved: true },
): Promise<void> {
  if (wakes.length === 0) return
  const given = valuesTable(tx, { account: 'text', submission_id: 'text', read: 'text' }, sortedKeys(wakes))
  const later = delayMs === 0 ? 0 : DETAIL_WAKE_DELAY_MS
  const ofDetail = sql`sync_reads.read in (${sql.join(detailReads)})`
  const soon = sql<TimeText>`case when ${ofDetail} then ${dbTime(tx, later)} else ${dbTime(tx, delayMs)} end`
  const lookAgain = dbTime(tx, LOOK_AGAIN_MS)
  const missed = moved
    ? sql`when lease_token is null and failures + stalled_walks = 0 and not_found > 0 and due_at > ${lookAgain} then ${lookAgain}`
    : sql``
  await sql`
    update sync_reads set
      wake_no = wake_no + 1,
      rank = case when lease_token is null and failures + not_found + stalled_walks = 0 then case when ${ofDetail} then ${sql.lit(rank.routine)} else ${sql.lit(rank.live)} end else rank end,
      due_at = case when lease_token is null and failures + not_found + stalled_walks = 0 and due_at > ${soon} then ${soon} ${missed} else due_at end,
      active_at = ${moved ? dbTime(tx) : sql.ref('active_at')}
    from ${given}
    where sync_reads.account = given.account and sync_reads.submission_id = given.submission_id and sync_reads.read = given.read`.execute(
    tx.sql,
  )
  wake(tx, 'reads')
}

/**
 * Requests a replay of the events of submissions with a new lane: more of the lane may lie behind the cursor (trap 8). A feed never read to
 * its end needs none, because it is being read from the beginning. A replay in flight may have passed that place: its due time changes, which
 * tells it to come again. A replay that is due is never postponed.
 */
export async function requestReplay(tx: Tx, places: readonly Place[]): Promise<void> {
  if (places.length === 0) return
  const given = valuesTable(
    tx,
    { account: 'text', submission_id: 'text' },
    places.map((p) => ({ account: p.account, submission_id: p.submissionId })),
  )
  const coalesced = timePlus(tx, sql`last_replay_at`, REPLAY_COALESCE_MS)
  const notBefore = greatest(tx, dbTime(tx), coalesced)
  const earlier = (column: string) => least(tx, sql`coalesce(${sql.ref(column)}, ${notBefore})`, notBefore)
  await sql`
    update sync_reads set
      replay_due_at = case when lease_token is not null and replay_due_at <= ${dbTime(tx)} then ${dbTime(tx)} else ${earlier('replay_due_at')} end,
      wake_no = wake_no + case when lease_token is null then 0 else 1 end,
      due_at = case when lease_token is null and failures + not_found + stalled_walks = 0 then ${earlier('due_at')} else due_at end
    from ${given}
    where sync_reads.account = given.account and sync_reads.submission_id = given.submission_id
      and sync_reads.read = 'events' and last_replay_at is not null`.execute(tx.sql)
  wake(tx, 'reads')
}

/**
 * The number of a new read: greater than that of every earlier read (invariant 6). It also exceeds the applied numbers, because a counter set
 * back by hand or by a restored table would make all later reads be refused.
 */
export function nextReadNumber(tx: Tx): RawBuilder<number> {
  return sql<number>`${greatest(tx, sql`issued_no`, sql`applied_no`, sql`cursor_no`)} + 1`
}

/**
 * Claims the right to apply a state read (invariant 6).
 * @returns false when a read with a greater number has been applied.
 */
export async function advanceAppliedNumber(tx: Tx, place: Place, read: ReadKind, readNo: number): Promise<boolean> {
  const result = await tx.sql
    .updateTable('sync_reads')
    .set({ applied_no: readNo })
    .where('account', '=', place.account)
    .where('submission_id', '=', place.submissionId)
    .where('read', '=', read)
    .where('applied_no', '<', readNo)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

function sortedKeys(wakes: readonly Wake[]): { account: string; submission_id: string; read: string }[] {
  const keys = new Map(
    wakes.map((w) => [`${w.account} ${w.submissionId} ${w.read}`, { account: w.account, submission_id: w.submissionId, read: w.read }]),
  )
  return [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key)
}
