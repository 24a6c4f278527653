import { z } from 'zod'
import { entities } from '../model/entities.ts'
import { type Entity, ownKey, type Row } from '../model/entity.ts'
import { type Json, sameJson } from '../model/json.ts'
import { parseTime } from '../model/time.ts'
import type { Query } from '../store/engine/db.ts'
import { shownOf, submissionTruth } from './shown.ts'

/** Answer of `GET /_sandbox/truth`. */
export const truthSchema = z.object({ account: z.string(), submissions: z.array(submissionTruth) })
export type Truth = z.output<typeof truthSchema>

export interface Difference {
  readonly submissionId: string
  readonly table: string
  /** Key columns of the record except `account` and `submission_id`, joined by spaces. */
  readonly key: string
  /**
   * `missing`: the mirror lacks the record. `surplus`: only the mirror has the record. A list: the columns that differ.
   */
  readonly what: 'missing' | 'surplus' | readonly string[]
}

/** Result of comparing one table. `shown`: number of records at the service. */
export interface Compared {
  readonly table: string
  readonly shown: number
  readonly differences: readonly Difference[]
}

/**
 * Compares the mirror with the service's data, record by record. Ignores submissions that `truth` doesn't contain.
 * @param account account of the mirror's rows.
 */
export async function compareWithTruth(q: Query, account: string, truth: Truth): Promise<Compared[]> {
  const results = entities.map((entity) => ({ entity, shown: 0, differences: [] as Difference[] }))
  for (const submission of truth.submissions) {
    const { submission_id } = submission
    const tables = shownOf(submission)
    for (const result of results) {
      const rows = tables[result.entity.table]?.map((item) => rowOf(result.entity, item))
      if (rows === undefined) continue
      result.shown += rows.length
      const stored = (await storedOf(q, account, submission_id, result.entity, rows)).filter(counts)
      result.differences.push(...compareRows(submission_id, result.entity, rows, stored))
    }
  }
  return results.map(({ entity, ...rest }) => ({ table: entity.table, ...rest }))
}

/**
 * @returns the submission's stored rows. If the table's key doesn't contain the submission, also returns other
 * submissions' rows whose keys are in `rows`.
 */
async function storedOf(q: Query, account: string, submission_id: string, entity: Entity, rows: readonly Row[]): Promise<readonly Row[]> {
  if (entity.key.includes('submission_id')) return await q.selectWhere(entity, { account, submission_id })
  const [, id = ''] = entity.key
  const ids = new Set(rows.map((row) => row[id]))
  return (await q.selectWhere(entity, { account })).filter((row) => row['submission_id'] === submission_id || ids.has(row[id] ?? null))
}

function compareRows(submissionId: string, entity: Entity, rows: readonly Row[], stored: readonly Row[]): Difference[] {
  const keyOf = (row: Row) =>
    ownKey(entity)
      .map((column) => String(row[column]))
      .join(' ')
  const left = new Map(stored.map((row) => [keyOf(row), row]))
  const differences: Difference[] = []
  const note = (key: string, what: Difference['what']) => differences.push({ submissionId, table: entity.table, key, what })
  for (const row of rows) {
    const key = keyOf(row)
    const found = left.get(key)
    left.delete(key)
    if (!found) {
      note(key, 'missing')
      continue
    }
    const valueIn = (of: Row, column: string) => (entity.fields[column]?.link ? unsigned(of[column]) : of[column]) ?? null
    const columns = Object.keys(row).filter((column) => !sameValue(valueIn(found, column), valueIn(row, column)))
    if (columns.length > 0) note(key, columns)
  }
  for (const key of left.keys()) note(key, 'surplus')
  return differences
}

/** Removes the query from a link, because the service may sign a link differently in each answer. */
function unsigned(link: Json | undefined): Json | undefined {
  return typeof link === 'string' ? link.split('?', 1)[0] : link
}

/** @returns whether two values are equal. An empty list counts as null. */
function sameValue(a: Json, b: Json): boolean {
  const plain = (value: Json) => (Array.isArray(value) && value.length === 0 ? null : value)
  return sameJson(plain(a), plain(b))
}

/** @returns whether to compare a stored row. False for rows that are gone, and for lanes that only events named. */
function counts(row: Row): boolean {
  return (row['gone_at'] ?? null) === null && row['state_source'] !== 'event'
}

function rowOf(entity: Entity, item: Row): Row {
  const known = Object.entries(entity.fields).filter(([column, { local, kind }]) => local !== true && kind !== 'raw' && column in item)
  return Object.fromEntries(
    known.flatMap(([column, { kind, volatile }]): [string, Json][] => {
      const value = item[column] ?? null
      if (volatile) return []
      return [[column, kind === 'time' && typeof value === 'string' ? parseTime(value) : value]]
    }),
  )
}
