import { sql } from 'kysely'
import { submissions } from '../../model/entities/submissions.ts'
import { entityNamed } from '../../model/entities.ts'
import { columnsWhere, type Entity, isInChangeLog, type Row } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import { specWithoutRaw } from '../schema/table.ts'
import { type PassedRecord, passedText } from './passed.ts'

/** A current row of the mirror. */
export interface PresentRow {
  /** All columns that the change log contains, including columns with personal data. */
  readonly after: Row
  /**
   * Number of the newest change in the log when the row was read. The row contains exactly the changes up
   * to this number.
   */
  readonly asOf: number
}

/**
 * Reads the current rows of records. One statement reads a row and its `asOf`, so the two match.
 * Map key: the text that `passedText` returns.
 */
export async function presentRows(q: Query, records: readonly PassedRecord[]): Promise<ReadonlyMap<string, PresentRow>> {
  const found = new Map<string, PresentRow>()
  for (const [table, few] of byEntity(records)) {
    const entity = entityNamed(table)
    if (entity === null) continue
    for (const { as_of, ...row } of await rowsOf(q, entity, few)) {
      const entityId = JSON.stringify(entity.key.slice(1).map((column) => row[column] ?? null))
      const record = { account: String(row['account']), entity: table, entityId }
      found.set(passedText(record), { after: q.protection.row(entity, row), asOf: Number(as_of) })
    }
  }
  return found
}

function byEntity(records: readonly PassedRecord[]): ReadonlyMap<string, readonly PassedRecord[]> {
  const distinct = new Map(records.map((record) => [passedText(record), record]))
  return Map.groupBy(distinct.values(), ({ entity }) => entity)
}

async function rowsOf(q: Query, entity: Entity, records: readonly PassedRecord[]): Promise<(Row & { as_of: number })[]> {
  const columns = columnsWhere(entity, isInChangeLog)
  const types = Object.fromEntries(entity.key.map((column) => [column, entity.columns[column] === 'int' ? 'int' : 'text'] as const))
  const keys = records.map(({ account, entityId }): Row => {
    const values = [account, ...(JSON.parse(entityId) as Row[string][])]
    return Object.fromEntries(entity.key.map((column, place) => [column, values[place] ?? null]))
  })
  const isSame = entity.key.map((column) => sql`e.${sql.ref(column)} = given.${sql.ref(column)}`)
  return await q.all(sql<Row & { as_of: number }>`
    select ${sql.join(columns.map((column) => sql`e.${sql.ref(column)}`))}, i.last_seq as as_of
    from ${valuesTable(q, types, keys)} join ${sql.table(entity.table)} e on ${sql.join(isSame, sql` and `)}
    join mirror_info i on i.id = 1`)
}

/** Content of a change. `before` or `after` is null if the change log has no JSON object in that column. */
export interface ChangeContent {
  readonly changedAt: TimeText
  readonly before: Row | null
  readonly after: Row | null
}

export async function changeContents(q: Query, seqs: readonly number[]): Promise<ReadonlyMap<number, ChangeContent>> {
  if (seqs.length === 0) return new Map()
  const given = seqs.map((seq) => ({ seq }))
  const rows = await q.all(sql<{ seq: number; changed_at: TimeText; before: Row | null; after: Row | null }>`
    select c.seq, c.changed_at, c.before, c.after from ${valuesTable(q, { seq: 'int' }, given)} join changes c on c.seq = given.seq`)
  const whole = (columns: Row | null) => (isObject(columns) ? columns : null)
  return new Map(
    rows.map(({ seq, changed_at, before, after }) => [seq, { changedAt: changed_at, before: whole(before), after: whole(after) }]),
  )
}

const currentSubmissions = specWithoutRaw(submissions)

/** Reads the current rows of submissions, without `raw`. Map key: account and submission id, separated by a space. */
export async function presentSubmissions(
  q: Query,
  of: readonly { readonly account: string; readonly submission_id: string | null }[],
): Promise<ReadonlyMap<string, Row>> {
  const keys = new Map(
    of.flatMap(({ account, submission_id }) =>
      submission_id === null ? [] : [[`${account} ${submission_id}`, { account, submission_id } as Row]],
    ),
  )
  const rows = await q.selectMany(currentSubmissions, [...keys.values()])
  return new Map(rows.map((row) => [`${row['account']} ${row['submission_id']}`, row]))
}
