import { type RawBuilder, sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query, Tx } from '../engine/db.ts'
import { rowLock, timeValue, valuesTable } from '../engine/sql.ts'
import { changesOf, type FanOutChange } from './fan-out.ts'
import { passedText, type SentRecord } from './passed.ts'

/** Which changes of the log to send again; fields left out do not narrow. */
export interface ResendSelection {
  /** Logged at or after this time. */
  readonly since?: TimeText | undefined
  /** Logged before this time. */
  readonly until?: TimeText | undefined
  /** The first and the last number. */
  readonly seq?: readonly [number, number] | undefined
  readonly submissionId?: string | undefined
  readonly entity?: string | undefined
}

/** A change that may be sent again. */
export interface ResendChange extends FanOutChange {
  /** A purge has emptied it: there is nothing left to send. */
  readonly isEmptied: boolean
}

/** The changes of a window of the log that a selection names. @param to the window's last number. */
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

/** Whether a change was logged when a selection says. */
function isLogged(q: Query, { since, until }: ResendSelection): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = []
  if (since !== undefined) conditions.push(sql`changed_at >= ${timeValue(q, since)}`)
  if (until !== undefined) conditions.push(sql`changed_at < ${timeValue(q, until)}`)
  return conditions
}

/** A record of which changes are selected. */
export interface SelectedRecord extends SentRecord {
  /** The number up to which its changes are looked at. */
  readonly upTo: number
}

/** The newest selected change of each record, by `passedText`. @param records each once; of each a change is selected. */
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
  // By the index of a submission's changes.
  const found = await sql<{ account: string; entity: string; entity_id: string; seq: number }>`
    select given.account, given.entity, given.entity_id, coalesce(
      (select max(seq) from changes c where c.submission_id = given.submission_id and ${named}),
      case when given.submission_id is null then (select max(seq) from changes c where c.submission_id is null and ${named}) end) as seq
    from ${given}`.execute(q.sql)
  return new Map(
    found.rows.map(({ account, entity, entity_id: entityId, seq }) => [passedText({ account, entity, entityId }), Number(seq)]),
  )
}

/** The newest changes of a submission, or the one with this number; in order. */
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

/** The changes with these numbers, as they are now. Until the transaction ends no purge of their submissions begins. */
export async function changesToResend(tx: Tx, seqs: readonly number[]): Promise<ResendChange[]> {
  const given = valuesTable(
    tx,
    { seq: 'int' },
    seqs.map((seq) => ({ seq })),
  )
  const isGiven = sql`seq in (select seq from ${given})`
  await sql`
    select 1 from submissions where (account, submission_id) in (select account, submission_id from changes where ${isGiven})
    order by account, submission_id ${rowLock(tx, 'for share')}`.execute(tx.sql)
  return await changesWhere(tx, isGiven)
}

function changesWhere(q: Query, condition: RawBuilder<unknown>): Promise<ResendChange[]> {
  return changesOf(q, sql`where ${condition} order by seq`)
}

/** Which of these changes are still on their way to a destination, and which were given up. */
export async function unsettledAmong(
  q: Query,
  destination: string,
  changes: readonly Pick<FanOutChange, 'account' | 'seq'>[],
): Promise<{ readonly waiting: number; readonly givenUp: number }> {
  const given = valuesTable(
    q,
    { account: 'text', seq: 'int' },
    changes.map(({ account, seq }) => ({ account, seq })),
  )
  const { rows } = await sql<{ state: string; n: number }>`
    select o.state, count(distinct o.seq) as n from ${given} join sync_outbox o on o.account = given.account and o.seq = given.seq
      and o.state in ('ready', 'dead', 'unknown') and o.destination = ${destination} and o.snapshot is null
    group by o.state`.execute(q.sql)
  const count = (state: string) => Number(rows.find((row) => row.state === state)?.n ?? 0)
  return { waiting: count('ready'), givenUp: count('dead') + count('unknown') }
}
