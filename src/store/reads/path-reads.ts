import { type RawBuilder, sql } from 'kysely'
import { storableJsonText, storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { dbTime, skipLocked } from '../engine/sql.ts'
import { syncPathReads } from '../schema/reads.ts'
import { specOf } from '../schema/table.ts'
import { withoutPurged } from './purged.ts'

/**
 * Schedule of reads of configured paths. An extra read stores its answers in the table `extra_reads`. A discovery path
 * is read to find new submission ids. Its placeholders are filled in, and `sync_path_reads` stores its last answer.
 */

export interface NamedPath {
  /** Name of an extra read. For a discovery path: the configured path, with its placeholders in braces. */
  readonly name: string
  /** The submission of an extra read; '' if the read is for the account. */
  readonly submissionId: string
  /** The discovery path to request, with its placeholders filled in; '' for an extra read. */
  readonly path: string
}

export interface PathClaim extends NamedPath {
  readonly account: string
  readonly leaseToken: string
  readonly failures: number
}

export const claimedPaths = new Leased<PathClaim>({
  table: 'sync_path_reads',
  what: 'path',
  key: { account: 'account', submission_id: 'submissionId', name: 'name', path: 'path' },
})

const KEY = sql`account, submission_id, name, path`
const pathReads = specOf(syncPathReads)

/**
 * Adds paths, due immediately. Skips paths of purged submissions, and paths that exist.
 * @returns the number of added paths.
 */
export async function addPaths(tx: Tx, account: string, paths: readonly NamedPath[]): Promise<number> {
  if (paths.length === 0) return 0
  const { now } = await tx.sql.selectNoFrom(dbTime(tx).as('now')).executeTakeFirstOrThrow()
  const kept = await withoutPurged(
    tx,
    paths.map((path) => ({ ...path, account })),
  )
  const rows = kept.map(({ name, submissionId, path }) => ({ account, submission_id: submissionId, name, path }))
  return tx.insertMany(
    pathReads,
    rows.map((row) => ({ ...row, due_at: now, failures: 0, ids: 0, found: 0 })),
    { ignore: true },
  )
}

/**
 * @returns one extra read for each submission and name.
 * @param submissionIds submissions; '' selects extra reads of the account.
 */
export function extraReadsOf(names: readonly string[], submissionIds: readonly string[]): NamedPath[] {
  return submissionIds.flatMap((submissionId) => names.map((name) => ({ name, submissionId, path: '' })))
}

/**
 * Adds the missing extra reads of up to `limit` submissions after `after`, due immediately.
 * @param after the last submission of the previous step; '' for the first step.
 * @returns the last submission of this step; null if no submissions remain.
 */
export async function addExtraReads(
  db: Db,
  account: string,
  names: readonly string[],
  after: string,
  limit: number,
): Promise<string | null> {
  const rows = await db.read.all(sql<{ submission_id: string; known: number }>`
    select submission_id, (select count(*) from sync_path_reads e where e.account = s.account and e.submission_id = s.submission_id
      and e.name in (${sql.join(names)})) as known
    from submissions s where account = ${account} and submission_id > ${after} order by submission_id limit ${sql.lit(limit)}`)
  const fresh = rows.filter(({ known }) => known < names.length).map(({ submission_id }) => submission_id)
  if (fresh.length > 0) {
    await db.write('path-add', (tx) => addPaths(tx, account, extraReadsOf(names, fresh)))
  }
  return rows.length < limit ? null : (rows.at(-1)?.submission_id ?? null)
}

/** Selects the paths to claim, by name. Without `submissionId`, only due paths. */
export interface PathQuery {
  readonly account: string
  readonly names: readonly string[]
  /**
   * Only the paths of this submission, including paths that aren't due. Skips paths that another process has claimed.
   */
  readonly submissionId?: string
}

/**
 * SQL for one claimable path of each name: the path that has been due longest. Each name has its own subquery, which
 * lets the database use the index.
 */
function firstDue(q: Query, { account, names, submissionId }: PathQuery, lock: RawBuilder<unknown> = sql``): RawBuilder<unknown> {
  const isDue = sql`due_at <= ${dbTime(q)}`
  const which = submissionId === undefined ? isDue : sql`submission_id = ${submissionId} and (lease_token is null or ${isDue})`
  const first = (name: string) => sql`
    select * from (select ${KEY}, due_at from sync_path_reads
      where account = ${account} and name = ${name} and ${which} order by due_at, path limit 1 ${lock}) as one`
  return sql`(${sql.join(names.map(first), sql` union all `)})`
}

/**
 * @returns whether a path can be claimed. `claimPath` checks this first, to avoid a write transaction that claims
 * nothing.
 */
export async function isPathDue(q: Query, query: PathQuery): Promise<boolean> {
  if (query.names.length === 0) return false
  return await q.exists(sql`select 1 from ${firstDue(q, query)} as due limit 1`)
}

/**
 * Claims the path that has been due longest.
 * @returns null if no path can be claimed.
 */
export async function claimPath(db: Db, query: PathQuery, leaseMs: number): Promise<PathClaim | null> {
  if (!(await isPathDue(db.read, query))) return null
  const leaseToken = newLeaseToken(db)
  const [claim] = await db.write('path-claim', (tx) => {
    const selection = sql`select ${KEY} from ${firstDue(tx, query, skipLocked(tx))} as each_name order by due_at, path limit 1`
    return claimedPaths.claim(tx, leaseToken, selection, { leaseMs, returning: { failures: 'failures' } })
  })
  return claim ?? null
}

export interface PathEnd {
  /** `ok`, `limited` (the answer had too many new submission ids), or the class of the error. */
  readonly outcome: string
  readonly error: string | null
  readonly failures: number
  readonly dueInMs: number
  readonly answer?: {
    /** Text of the answer, truncated. */
    readonly raw: string
    readonly bytes: number
    /** `ids`: number of submission ids in the answer. `found`: number of ids that were new. */
    readonly ids: number
    readonly found: number
  }
}

/**
 * Stores the result of a path and ends the claim.
 * @throws LeaseLostError if this process lost the lease, or if the submission was purged.
 */
export async function settlePath(tx: Tx, claim: PathClaim, end: PathEnd): Promise<void> {
  const { outcome, failures, answer } = end
  const error = end.error === null ? null : storableText(end.error)
  const set = [sql`due_at = ${dbTime(tx, end.dueInMs)}, outcome = ${outcome}, failures = ${failures}, error = ${error}`]
  if (error === null) set.push(sql`last_read_at = ${dbTime(tx)}`)
  if (answer !== undefined) {
    const at = { account: claim.account, table: 'sync_path_reads', key: JSON.stringify([claim.path]), column: 'raw' }
    const raw = storableText(tx.protection.text(answer.raw, at))
    set.push(sql`raw = ${raw}, raw_bytes = ${answer.bytes}, ids = ${answer.ids}, found = found + ${sql.lit(answer.found)}`)
  }
  await claimedPaths.settle(tx, claim, sql.join(set))
}

/**
 * Stores the answer of an extra read and ends the claim.
 * @throws LeaseLostError if this process lost the lease, or if the submission was purged.
 */
export async function keepExtraAnswer(tx: Tx, claim: PathClaim, text: string, dueInMs: number): Promise<void> {
  await settlePath(tx, claim, { outcome: 'ok', error: null, failures: 0, dueInMs })
  const { account, submissionId, name } = claim
  const at = { account, table: 'extra_reads', key: JSON.stringify([submissionId, name]), column: 'raw' }
  const raw = tx.protection.text(storableJsonText(text), at)
  await tx.run(sql`
    insert into extra_reads (account, submission_id, name, read_at, raw) values (${account}, ${submissionId}, ${name}, ${dbTime(tx)}, ${raw})
    on conflict (account, submission_id, name) do update set read_at = excluded.read_at, raw = excluded.raw`)
}

/** Releases a claim. The path is due in `dueInMs`. */
export async function releasePath(db: Db, claim: PathClaim, dueInMs = 0): Promise<void> {
  await db.write('path-settle', (tx) => claimedPaths.release(tx, claim, dueInMs))
}

/** Makes paths due within `everyMs`. Skips failing and claimed paths. */
export async function shortenPathWaits(tx: Tx, account: string, names: readonly string[], everyMs: number): Promise<void> {
  const latest = dbTime(tx, everyMs)
  await tx.run(sql`
    update sync_path_reads set due_at = ${latest}
    where account = ${account} and name in (${sql.join(names)}) and due_at > ${latest} and failures = 0 and lease_token is null`)
}

/** Counts the discovery paths that were made from one configured path. */
export async function countPaths(q: Query, account: string, name: string): Promise<number> {
  return await q.count(sql`select count(*) as n from sync_path_reads where account = ${account} and name = ${name}`)
}

/** Summarizes the discovery paths of each configured path in `templates`. */
export async function discoveryStatus(q: Query, account: string, templates: readonly string[]) {
  if (templates.length === 0) return []
  return await q.all(sql<{
    path: string
    /**
     * `paths`: number of discovery paths made from the configured path. `failing`: how many of these fail. `limited`:
     * how many of these had too many new submission ids in their last answer.
     */
    paths: number
    failing: number
    limited: number
    /** Earliest time of a path's last answer. Null if one of the paths never answered. */
    oldest_answer_at: TimeText | null
    found: number
    error: string | null
  }>`
    select name as path, count(*) as paths, count(case when failures > 0 then 1 end) as failing,
      count(case when outcome = 'limited' then 1 end) as limited,
      case when count(last_read_at) = count(*) then min(last_read_at) end as oldest_answer_at, cast(sum(found) as bigint) as found,
      max(case when failures > 0 then error end) as error
    from sync_path_reads where account = ${account} and name in (${sql.join(templates)})
    group by name order by name`)
}
