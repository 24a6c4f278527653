import { type RawBuilder, sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query, Tx } from '../engine/db.ts'
import { rowLock, timeValue, valuesTable } from '../engine/sql.ts'
import { changesOf, type FanOutChange } from './fan-out.ts'
import { passedText, type SentRecord } from './passed.ts'

/** Changes to resend. A missing field doesn't restrict the selection. */
export interface ResendSelection {
  readonly since?: TimeText | undefined
  readonly until?: TimeText | undefined
  /** Lowest and highest `seq` to resend. */
  readonly seq?: readonly [number, number] | undefined
  readonly submissionId?: string | undefined
  readonly entity?: string | undefined
}

/** A change that an operator may resend. */
export interface ResendChange extends FanOutChange {
  /** Whether a purge emptied the change. */
  readonly isEmptied: boolean
}

/** Reads the selected changes whose numbers are above `after` and at most `to`. */
export async function selectedChanges(
  q: Query,
  accounts: readonly string[],
  selection: ResendSelection,
  after: number,
  to: number,
): Promise<ResendChange[]> {
  if (accounts.length === 0) return []
  const { submissionId, entity } = selection
  const conditions = [sql`seq > ${after} and seq <= ${to}`, sql`account in (${sql.join(accounts)})`, ...isLogged(q, selection)]
  if (submissionId !== undefined) conditions.push(sql`submission_id = ${submissionId}`)
  if (entity !== undefined) conditions.push(sql`entity = ${entity}`)
  return await changesWhere(q, sql.join(conditions, sql` and `))
}

function isLogged(q: Query, { since, until }: ResendSelection): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = []
  if (since !== undefined) conditions.push(sql`changed_at >= ${timeValue(q, since)}`)
  if (until !== undefined) conditions.push(sql`changed_at < ${timeValue(q, until)}`)
  return conditions
}

/** A record that has at least one selected change. */
export interface SelectedRecord extends SentRecord {
  /** Changes with a higher number are ignored. */
  readonly upTo: number
}

/**
 * @param records distinct records. Each has at least one selected change.
 * @returns the number of each record's newest selected change. Map key: the text that `passedText` returns.
 */
export async function newestSelected(
  q: Query,
  selection: ResendSelection,
  records: readonly SelectedRecord[],
): Promise<ReadonlyMap<string, number>> {
  if (records.length === 0) return new Map()
  const rows = records.map(({ submissionId, entityId, upTo, account, entity }) => ({
    account,
    submission_id: submissionId,
    entity,
    entity_id: entityId,
    up_to: upTo,
  }))
  const given = valuesTable(q, { account: 'text', submission_id: 'text', entity: 'text', entity_id: 'text', up_to: 'int' }, rows)
  const isIts = sql`c.account = given.account and c.entity = given.entity and c.entity_id = given.entity_id and seq <= up_to`
  const named = sql.join([isIts, ...isLogged(q, selection)], sql` and `)
  // Separate subqueries for records with and without a submission let the database use the index on submissions.
  const found = await q.all(sql<{ account: string; entity: string; entity_id: string; seq: number }>`
    select given.account, given.entity, given.entity_id, coalesce(
      (select max(seq) from changes c where c.submission_id = given.submission_id and ${named}),
      case when given.submission_id is null then (select max(seq) from changes c where c.submission_id is null and ${named}) end) as seq
    from ${given}`)
  return new Map(found.map(({ account, entity, entity_id: entityId, seq }) => [passedText({ account, entity, entityId }), seq]))
}

/** Reads the change with the number `seq`, or the `limit` newest changes of a submission, ascending. */
export async function changesToPreview(
  q: Query,
  accounts: readonly string[],
  { seq, submissionId }: { readonly seq?: number | undefined; readonly submissionId?: string | undefined },
  limit: number,
): Promise<ResendChange[]> {
  if (accounts.length === 0) return []
  const which = seq === undefined ? sql`submission_id = ${submissionId}` : sql`seq = ${seq}`
  const newest = sql`select seq from changes where account in (${sql.join(accounts)}) and ${which} order by seq desc limit ${sql.lit(limit)}`
  return await changesWhere(q, sql`seq in (${newest})`)
}

/**
 * Reads the changes with these numbers. Until the transaction ends, the submissions of these changes can't be purged.
 */
export async function changesToResend(tx: Tx, seqs: readonly number[]): Promise<ResendChange[]> {
  const given = seqs.map((seq) => ({ seq }))
  const isGiven = sql`seq in (select seq from ${valuesTable(tx, { seq: 'int' }, given)})`
  await tx.run(sql`
    select 1 from submissions where (account, submission_id) in (select account, submission_id from changes where ${isGiven})
    order by account, submission_id ${rowLock(tx, 'for share')}`)
  return await changesWhere(tx, isGiven)
}

function changesWhere(q: Query, condition: RawBuilder<unknown>): Promise<ResendChange[]> {
  return changesOf(q, sql`where ${condition} order by seq`)
}

/**
 * Counts the given changes whose receipt the destination hasn't confirmed, by outbox state. `waiting`: still to be
 * sent. Changes without an outbox row aren't counted.
 */
export async function unsettledAmong(
  q: Query,
  destination: string,
  changes: readonly Pick<FanOutChange, 'account' | 'seq'>[],
): Promise<Readonly<Record<'waiting' | 'deadLettered' | 'unknown', number>>> {
  const keys = changes.map(({ account, seq }) => ({ account, seq }))
  const given = valuesTable(q, { account: 'text', seq: 'int' }, keys)
  const rows = await q.all(sql<{ state: string; n: number }>`
    select o.state, count(distinct o.seq) as n from ${given} join sync_outbox o on o.account = given.account and o.seq = given.seq
      and o.state in ('ready', 'dead', 'unknown') and o.destination = ${destination} and o.snapshot is null
    group by o.state`)
  const count = (state: string) => rows.find((row) => row.state === state)?.n ?? 0
  return { waiting: count('ready'), deadLettered: count('dead'), unknown: count('unknown') }
}
