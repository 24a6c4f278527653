import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, TableSpec, Tx } from '../engine/db.ts'
import { LeaseLostError } from '../engine/leases.ts'
import { dbTime, skipLocked } from '../engine/sql.ts'
import type { DiscoveryTable } from '../schema/tables-completeness.ts'

const probes: TableSpec = {
  table: 'sync_discovery',
  key: ['account', 'path'],
  columns: { account: 'text', path: 'text', template: 'text', due_at: 'time', failures: 'int', ids: 'int', found: 'int' },
}

/** A path to probe. `template` is its form in the settings: the same, or with a key in braces where the path has an id. */
export interface ProbePath {
  readonly path: string
  readonly template: string
}

/** A path that this process may probe until its lease ends. */
export interface ProbeClaim extends ProbePath {
  readonly account: string
  readonly leaseToken: string
  readonly failures: number
}

/** Adds paths, due at once; existing ones stay unchanged. @returns how many are new. */
export async function addProbes(tx: Tx, account: string, paths: readonly ProbePath[], now: TimeText): Promise<number> {
  const rows = paths.map((path) => ({ account, path: path.path, template: path.template, due_at: now, failures: 0, ids: 0, found: 0 }))
  return tx.insertMany(probes, rows, { ignore: true })
}

/** Applies a shorter `every` to stored due times. Failing paths keep their backoff. */
export async function capProbes(tx: Tx, account: string, everyMs: number): Promise<void> {
  await tx.sql
    .updateTable('sync_discovery')
    .set({ due_at: dbTime(tx, everyMs) })
    .where('account', '=', account)
    .where('due_at', '>', dbTime(tx, everyMs))
    .where('lease_token', 'is', null)
    .where('failures', '=', 0)
    .execute()
}

/** Whether a path of one of `templates` is due. Saves a write transaction that would claim nothing. */
export async function isProbeDue(q: Query, account: string, templates: readonly string[]): Promise<boolean> {
  const row = await q.sql
    .selectFrom('sync_discovery')
    .select('path')
    .where('account', '=', account)
    .where('template', 'in', templates)
    .where('due_at', '<=', dbTime(q))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Claims the path that has been due longest; null when none is. A lease makes it due again by itself when its process dies. */
export async function claimProbe(db: Db, account: string, templates: readonly string[], leaseMs: number): Promise<ProbeClaim | null> {
  const leaseToken = randomUUID()
  return db.write('discovery-claim', async (tx) => {
    const { rows } = await sql<Pick<DiscoveryTable, 'path' | 'template' | 'failures'>>`
      with due as (
        select account, path from sync_discovery
        where account = ${account} and template in (${sql.join(templates)}) and due_at <= ${dbTime(tx)}
        order by due_at, path limit 1 ${skipLocked(tx)})
      update sync_discovery set lease_token = ${leaseToken}, due_at = ${dbTime(tx, leaseMs)}
      from due where sync_discovery.account = due.account and sync_discovery.path = due.path
      returning sync_discovery.path, template, failures`.execute(tx.sql)
    const [row] = rows
    return row ? { account, path: row.path, template: row.template, leaseToken, failures: row.failures } : null
  })
}

/** How a probe ended, and when it is due again. */
export interface ProbeEnd {
  /**
   * `ok`, `limited` (more new ids than one answer may bring in), or the class of the failure. Null when no request was made: then only the due
   * time changes.
   */
  readonly outcome: string | null
  readonly error: string | null
  readonly failures: number
  readonly dueInMs: number
  /** The answer, unless the probe failed. */
  readonly answer?: {
    /** Cut to the stored length. */
    readonly raw: string
    readonly bytes: number
    /** Submission ids in the answer, and how many of them were new. */
    readonly ids: number
    readonly found: number
  }
}

/** @returns an answer without tax ids. */
function protectedRaw(tx: Tx, { account, path }: ProbeClaim, raw: string): string {
  return tx.protection.text(raw, { account, table: 'sync_discovery', key: JSON.stringify([path]), column: 'raw' })
}

/** @throws LeaseLostError when another process has taken over the path. */
export async function settleProbe(tx: Tx, claim: ProbeClaim, end: ProbeEnd): Promise<void> {
  const { answer } = end
  const set = [sql`lease_token = null, due_at = ${dbTime(tx, end.dueInMs)}`]
  if (end.outcome !== null) {
    const error = end.error === null ? null : storableText(end.error)
    set.push(sql`probed_at = ${dbTime(tx)}, outcome = ${end.outcome}, failures = ${end.failures}, error = ${error}`)
  }
  if (answer) {
    set.push(sql`answered_at = ${dbTime(tx)}, raw = ${storableText(protectedRaw(tx, claim, answer.raw))}, raw_bytes = ${answer.bytes}`)
    set.push(sql`ids = ${answer.ids}, found = found + ${sql.lit(answer.found)}`)
  }
  const result = await sql`update sync_discovery set ${sql.join(set)} where ${mine(claim)}`.execute(tx.sql)
  if (result.numAffectedRows !== 1n) throw new LeaseLostError(`probing ${claim.path}`)
}

/** How many paths a template has. */
export async function countProbes(q: Query, account: string, template: string): Promise<number> {
  const row = await q.sql
    .selectFrom('sync_discovery')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('account', '=', account)
    .where('template', '=', template)
    .executeTakeFirstOrThrow()
  return Number(row.n)
}

/** State of probing, by template. Templates no longer in the settings are left out. */
export async function discoveryStatus(q: Query, account: string, templates: readonly string[]) {
  if (templates.length === 0) return []
  const { rows } = await sql<{
    /** The template. */
    path: string
    /** How many it has; of them those whose probes fail, and those whose last answer had more new submissions than one may bring in. */
    paths: number
    failing: number
    limited: number
    /** The oldest of the paths' last answers; null when some path was never answered. */
    oldest_answer_at: TimeText | null
    found: number
    /** The error of a failing path. */
    error: string | null
  }>`
    select template as path, count(*) as paths, count(case when failures > 0 then 1 end) as failing,
      count(case when outcome = 'limited' then 1 end) as limited,
      case when count(answered_at) = count(*) then min(answered_at) end as oldest_answer_at, cast(sum(found) as bigint) as found,
      max(case when failures > 0 then error end) as error
    from sync_discovery where account = ${account} and template in (${sql.join(templates)})
    group by template order by template`.execute(q.sql)
  return rows
}

function mine(claim: ProbeClaim) {
  return sql`account = ${claim.account} and path = ${claim.path} and lease_token = ${claim.leaseToken}`
}
