import { type RawBuilder, sql } from 'kysely'
import { storableJsonText, storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { dbTime, skipLocked } from '../engine/sql.ts'
import { syncPathReads } from '../schema/reads.ts'
import { specOf } from '../schema/table.ts'
import { withoutPurged } from './purged.ts'

/*
 * Paths that an operator named. An extra read is made once, or once for each submission; its answer is kept in `extra_reads`. Of discovery is
 * kept the path with its ids in place; what it answered last stays here.
 */

/** A path that an operator named. */
export interface NamedPath {
  /** The name of an extra read; a path of discovery as the settings have it, with a key in braces where ids stand. */
  readonly name: string
  /** The submission that an extra read is about; '' for none. */
  readonly submissionId: string
  /** Of discovery: the path to request. Of an extra read '': it follows from the settings. */
  readonly path: string
}

/** A path that this process may read until its lease ends. */
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

/** Adds paths, due at once, but not of purged submissions; known ones stay as they are. @returns how many are new. */
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

/** The extra reads of these names, of each submission. @param submissionIds `''`: of none. */
export function extraReadsOf(names: readonly string[], submissionIds: readonly string[]): NamedPath[] {
  return submissionIds.flatMap((submissionId) => names.map((name) => ({ name, submissionId, path: '' })))
}

/**
 * Adds the extra reads of submissions that have none yet, due at once, a step at a time.
 * @param after the last submission of the previous step; '' to begin.
 * @returns the last submission of this step; null when there are no more.
 */
export async function addExtraReads(
  db: Db,
  account: string,
  names: readonly string[],
  after: string,
  limit: number,
): Promise<string | null> {
  const { rows } = await sql<{ submission_id: string; known: number }>`
    select submission_id, (select count(*) from sync_path_reads e where e.account = s.account and e.submission_id = s.submission_id
      and e.name in (${sql.join(names)})) as known
    from submissions s where account = ${account} and submission_id > ${after} order by submission_id limit ${sql.lit(limit)}`.execute(
    db.read.sql,
  )
  const fresh = rows.filter(({ known }) => Number(known) < names.length).map(({ submission_id }) => submission_id)
  if (fresh.length > 0) {
    await db.write('path-add', (tx) => addPaths(tx, account, extraReadsOf(names, fresh)))
  }
  return rows.length < limit ? null : (rows.at(-1)?.submission_id ?? null)
}

/** Which paths: those that are due of any of these names. */
export interface PathQuery {
  readonly account: string
  readonly names: readonly string[]
  /** Only of this submission, due or not, unless another process reads it. */
  readonly submissionId?: string
}

/** The first of each name, so that each goes by the index. */
function firstDue(q: Query, { account, names, submissionId }: PathQuery, lock: RawBuilder<unknown> = sql``): RawBuilder<unknown> {
  const isDue = sql`due_at <= ${dbTime(q)}`
  const which = submissionId === undefined ? isDue : sql`submission_id = ${submissionId} and (lease_token is null or ${isDue})`
  const first = (name: string) => sql`
    select * from (select ${KEY}, due_at from sync_path_reads
      where account = ${account} and name = ${name} and ${which} order by due_at, path limit 1 ${lock}) as one`
  return sql`(${sql.join(names.map(first), sql` union all `)})`
}

/** Whether a path is due. Saves a write transaction that would claim nothing. */
export async function isPathDue(q: Query, query: PathQuery): Promise<boolean> {
  if (query.names.length === 0) return false
  return (await sql`select 1 from ${firstDue(q, query)} as due limit 1`.execute(q.sql)).rows.length > 0
}

/** Claims the path that has been due longest; null when none is. */
export async function claimPath(db: Db, query: PathQuery, leaseMs: number): Promise<PathClaim | null> {
  if (!(await isPathDue(db.read, query))) return null
  const leaseToken = newLeaseToken(db)
  const [claim] = await db.write('path-claim', (tx) => {
    const selection = sql`select ${KEY} from ${firstDue(tx, query, skipLocked(tx))} as each_name order by due_at, path limit 1`
    return claimedPaths.claim(tx, leaseToken, selection, { leaseMs, returning: { failures: 'failures' } })
  })
  return claim ?? null
}

/** How a read ended, and when the path is due again. */
export interface PathEnd {
  /** `ok`, `limited` (more new ids than one answer may bring in), or the class of the failure. */
  readonly outcome: string
  readonly error: string | null
  readonly failures: number
  readonly dueInMs: number
  /** The answer of a path of discovery. */
  readonly answer?: {
    /** Cut to the stored length. */
    readonly raw: string
    readonly bytes: number
    /** Submission ids in the answer, and how many of them were new. */
    readonly ids: number
    readonly found: number
  }
}

/** @throws LeaseLostError when another process has taken over the path, or its submission was purged. */
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
 * Keeps the answer of an extra read and ends its claim, in the transaction that learned its ids. An answer that is the same as before only moves
 * its time.
 * @throws LeaseLostError as `settlePath` does.
 */
export async function keepExtraAnswer(tx: Tx, claim: PathClaim, text: string, dueInMs: number): Promise<void> {
  await settlePath(tx, claim, { outcome: 'ok', error: null, failures: 0, dueInMs })
  const { account, submissionId, name } = claim
  const at = { account, table: 'extra_reads', key: JSON.stringify([submissionId, name]), column: 'raw' }
  const raw = tx.protection.text(storableJsonText(text), at)
  await sql`
    insert into extra_reads (account, submission_id, name, read_at, raw) values (${account}, ${submissionId}, ${name}, ${dbTime(tx)}, ${raw})
    on conflict (account, submission_id, name) do update set read_at = excluded.read_at, raw = excluded.raw`.execute(tx.sql)
}

/** Releases a claim unchanged. @param dueInMs when it is due again. */
export async function releasePath(db: Db, claim: PathClaim, dueInMs = 0): Promise<void> {
  await db.write('path-settle', (tx) => claimedPaths.release(tx, claim, dueInMs))
}

/** How many paths a path of the settings has. */
export async function countPaths(q: Query, account: string, name: string): Promise<number> {
  const query = q.sql.selectFrom('sync_path_reads').select((eb) => eb.fn.countAll<number>().as('n'))
  const row = await query.where('account', '=', account).where('name', '=', name).executeTakeFirstOrThrow()
  return Number(row.n)
}

/** State of discovery, by its paths in the settings; others are left out. */
export async function discoveryStatus(q: Query, account: string, templates: readonly string[]) {
  if (templates.length === 0) return []
  const { rows } = await sql<{
    /** Its form in the settings. */
    path: string
    /** How many it has; of them those whose reads fail, and those whose last answer had more new submissions than one may bring in. */
    paths: number
    failing: number
    limited: number
    /** The oldest of the paths' last answers; null when some path was never answered. */
    oldest_answer_at: TimeText | null
    found: number
    /** The error of a failing path. */
    error: string | null
  }>`
    select name as path, count(*) as paths, count(case when failures > 0 then 1 end) as failing,
      count(case when outcome = 'limited' then 1 end) as limited,
      case when count(last_read_at) = count(*) then min(last_read_at) end as oldest_answer_at, cast(sum(found) as bigint) as found,
      max(case when failures > 0 then error end) as error
    from sync_path_reads where account = ${account} and name in (${sql.join(templates)})
    group by name order by name`.execute(q.sql)
  return rows
}
