import { sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import type { Row } from '../../model/entity.ts'
import type { Place } from '../../model/facts.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import type { Columns } from '../schema/tables.ts'

/** A row of the change log. */
export interface LoggedChange
  extends Columns<'changes', 'seq' | 'account' | 'submission_id' | 'entity' | 'entity_id' | 'operation' | 'changed_at' | 'cause'> {
  readonly before: Row | null
  readonly after: Row | null
}

/** Which changes. */
export interface ChangeFilter {
  readonly account?: string | undefined
  readonly entity?: string | undefined
  /** The last number that is looked at. */
  readonly until?: number
}

/** The changes behind `seq`, in order, up to `limit`. Going on from the last one never misses any (invariant 9). */
export async function changesAfter(
  q: Query,
  seq: number,
  limit: number,
  { account, entity, until }: ChangeFilter = {},
): Promise<LoggedChange[]> {
  const is = (column: string, value: string | undefined) => (value === undefined ? sql`` : sql`and ${sql.ref(column)} = ${value}`)
  const { rows } = await sql<LoggedChange>`
    select seq, changed_at, account, submission_id, entity, entity_id, operation, cause, before, after from changes
    where seq > ${seq} ${until === undefined ? sql`` : sql`and seq <= ${until}`} ${is('account', account)} ${is('entity', entity)}
    order by seq limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}

/** The change with that number, with the values of both sides; null when the log does not have it any more. */
export async function findChange(q: Query, seq: number) {
  const { rows } = await sql<
    Pick<LoggedChange, 'changed_at' | 'cause' | 'before' | 'after'>
  >`select changed_at, cause, before, after from changes where seq = ${seq}`.execute(q.sql)
  return rows[0] ?? null
}

/** @returns rows of a submission as the change log has them, by `entity entity_id`. Columns that no kept change names are left out. */
export async function loggedRows(
  q: Query,
  { account, submissionId }: Place,
  of: readonly Pick<Change, 'entity_id'>[],
): Promise<ReadonlyMap<string, Row>> {
  const found = new Map<string, Row>()
  if (of.length === 0) return found
  const ids = [...new Set(of.map(({ entity_id }) => entity_id))]
  const { rows } = await sql<Pick<LoggedChange, 'entity' | 'entity_id' | 'after'>>`
    select entity, entity_id, after from changes
    where account = ${account} and submission_id = ${submissionId} and entity_id in (${sql.join(ids)}) order by seq`.execute(q.sql)
  for (const { entity, entity_id, after } of rows) {
    const key = `${entity} ${entity_id}`
    found.set(key, { ...found.get(key), ...after })
  }
  return found
}

/** Which changes of a submission: those of one cause, between two times. */
export interface ChangesBetween {
  readonly account: string
  readonly submissionId: string
  readonly cause: string
  readonly since: TimeText
  readonly until: TimeText
}

/** They, in order, up to `limit`, without their values. */
export function changesBetween(q: Query, { account, submissionId, cause, since, until }: ChangesBetween, limit: number) {
  return q.sql
    .selectFrom('changes')
    .select(['seq', 'entity', 'entity_id', 'operation', 'cause', 'changed_at'])
    .where('account', '=', account)
    .where('submission_id', '=', submissionId)
    .where('cause', '=', cause)
    .where('changed_at', '>=', timeValue(q, since))
    .where('changed_at', '<=', timeValue(q, until))
    .orderBy('seq')
    .limit(limit)
    .execute()
}
