import { type RawBuilder, sql } from 'kysely'
import { type Json, storableText } from '../../model/json.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { purgedAmong } from '../reads/purged.ts'
import { type FindingKind, findingKinds, type ReconcileFindingsTable, reconcileFindings } from '../schema/reconcile.ts'
import { specOf } from '../schema/table.ts'
import { type RunClaim, renewLease } from './claims.ts'
import type { RunCounts } from './runs.ts'

export type FindingRow = ReconcileFindingsTable

/** Maximum number of findings to delete in one transaction. */
const DELETE_BATCH = 1_000

const findingsTable = specOf(reconcileFindings)

/**
 * Inserts findings. Skips findings that are already stored, and findings about purged submissions.
 * @returns how much to add to each count of the run.
 */
export async function insertFindings(tx: Tx, findings: readonly ReconcileFindingsTable[]): Promise<Partial<RunCounts>> {
  const counts: { -readonly [name in keyof RunCounts]?: number } = {}
  const named = findings.flatMap(({ account, submission_id }) => (submission_id === null ? [] : [{ account, submission_id }]))
  const purged = await purgedAmong(tx, [...new Map(named.map((key) => [key.submission_id, key])).values()])
  const kept = findings.filter(({ account, submission_id }) => !purged.has(`${account} ${submission_id}`))
  const groups = Map.groupBy(kept, ({ kind, known, repaired_at }) => `${kind} ${known} ${repaired_at !== null}`)
  for (const [, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [first] = group
    if (!first) continue
    const rows = group.map((row) => ({ ...row, detail: storableText(row.detail) }))
    const inserted = await tx.insertMany(findingsTable, rows as unknown as Record<string, Json>[], { ignore: true })
    const name = first.known ? 'known' : first.kind
    counts[name] = (counts[name] ?? 0) + inserted
    if (first.repaired_at !== null && !first.known && first.kind !== 'moved') counts.repaired = (counts.repaired ?? 0) + inserted
  }
  return counts
}

/** @returns the counts of a run's findings, and the highest finding number. */
export async function sumFindings(q: Query, runId: string): Promise<{ counts: Partial<RunCounts>; lastNo: number }> {
  const rows = await q.all(sql<{ kind: FindingKind; known: number | boolean; n: number; repaired: number; last: number }>`
    select kind, known, count(*) as n, count(repaired_at) as repaired, max(finding_no) as last
    from reconcile_findings where run_id = ${runId} group by kind, known`)
  const counts = Object.fromEntries([...findingKinds, 'known', 'repaired'].map((name) => [name, 0])) as Record<string, number>
  let lastNo = 0
  for (const row of rows) {
    lastNo = Math.max(lastNo, row.last)
    if (row.known) counts['known'] = (counts['known'] ?? 0) + row.n
    else {
      counts[row.kind] = row.n
      if (row.kind !== 'moved') counts['repaired'] = (counts['repaired'] ?? 0) + row.repaired
    }
  }
  return { counts, lastNo }
}

/**
 * Deletes the findings of a dry run that is resumed. A dry run doesn't store which submissions it checked, so it checks
 * and reports every submission again.
 * @throws LeaseLostError if this process lost the lease.
 */
export async function deleteFindings(db: Db, claim: RunClaim): Promise<void> {
  const found = sql`select finding_no from reconcile_findings where run_id = ${claim.run.run_id} limit ${sql.lit(DELETE_BATCH)}`
  for (let removed = DELETE_BATCH; removed === DELETE_BATCH; ) {
    removed = await db.write('reconcile-findings', async (tx) => {
      await renewLease(tx, claim)
      return await tx.run(sql`
        delete from reconcile_findings where run_id = ${claim.run.run_id} and finding_no in (${found})`)
    })
  }
}

/** Selects findings of one run, in the order in which they were found. */
export interface FindingFilter {
  readonly runId: string
  readonly kind?: FindingKind | undefined
  readonly known?: boolean | undefined
  readonly submissionId?: string | undefined
  readonly after?: number | undefined
  /** Maximum number of findings; 1,000 if undefined. */
  readonly limit?: number | undefined
}

export async function listFindings(q: Query, filter: FindingFilter): Promise<FindingRow[]> {
  let query = q.sql.selectFrom('reconcile_findings').selectAll().where('run_id', '=', filter.runId)
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind)
  if (filter.known !== undefined) query = query.where('known', '=', filter.known)
  if (filter.submissionId !== undefined) query = query.where('submission_id', '=', filter.submissionId)
  if (filter.after !== undefined) query = query.where('finding_no', '>', filter.after)
  return query
    .orderBy('finding_no')
    .limit(filter.limit ?? 1_000)
    .execute()
}

/** Counts the findings of a run by kind, table, and whether an earlier run reported them (`known`). */
export async function countFindings(q: Query, runId: string) {
  return q.sql
    .selectFrom('reconcile_findings')
    .select((eb) => ['kind', 'known', 'entity', eb.fn.countAll<number>().as('total'), eb.fn.count<number>('repaired_at').as('repaired')])
    .where('run_id', '=', runId)
    .groupBy(['kind', 'known', 'entity'])
    .orderBy('kind')
    .orderBy('known')
    .orderBy('entity')
    .execute()
}

/**
 * Condition on a row of `reconcile_findings`: a run other than `runId` reported the finding. A finding of a dry run
 * counts only if it is known, which means that an earlier run had reported the finding.
 * @param findings the table's name or alias in the statement.
 */
export function reportedBefore(q: Pick<Query, 'kind'>, runId: string, findings = 'reconcile_findings'): RawBuilder<boolean> {
  const of = (column: string) => sql.ref(`${findings}.${column}`)
  const isDry = q.kind === 'sqlite' ? sql`json_extract(reporter.options, '$.dry_run')` : sql`(reporter.options ->> 'dry_run')::boolean`
  return sql<boolean>`(${of('run_id')} <> ${runId} and (${of('known')}
    or not exists (select 1 from reconcile_runs reporter where reporter.run_id = ${of('run_id')} and ${isDry})))`
}

/** @returns whether another run already reported that a submission with this id can't exist at the service. */
export async function isMisnamedReported(q: Query, account: string, submissionId: string, runId: string): Promise<boolean> {
  return await q.exists(sql`
    select 1 from reconcile_findings where account = ${account} and submission_id = ${submissionId} and kind = 'absent'
    and entity = 'submissions' and ${reportedBefore(q, runId)} limit 1`)
}
