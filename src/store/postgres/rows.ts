import type pg from 'pg'
import type { ColumnKind, Row } from '../../model/entity.ts'
import type { TableSpec } from '../engine/db.ts'

/** Runs a statement on a connection. */
export type RunText = (text: string, values: readonly unknown[]) => Promise<pg.QueryResult<Record<string, unknown>>>

/** Maximum length in characters of the rows in one statement. */
const MAX_CHUNK_LENGTH = 4 * 1024 * 1024
const MAX_CHUNK_ROWS = 5_000

/**
 * Postgres types of values in the JSON parameter, by kind of column. A `raw` value is passed as text and then cast to
 * `json`, because Postgres then keeps its exact characters.
 */
const GIVEN_TYPE: Readonly<Record<ColumnKind, string>> = {
  text: 'text collate "C"',
  int: 'bigint',
  real: 'double precision',
  bool: 'boolean',
  json: 'jsonb',
  time: 'timestamptz',
  date: 'date',
  raw: 'text',
}

/**
 * Inserts rows. Each statement passes up to `MAX_CHUNK_ROWS` rows in one JSON parameter. This saves round trips and
 * stays below Postgres's limit on parameters.
 * @param ignore skips rows whose key already exists in the table.
 * @returns the number of inserted rows.
 */
export async function insertMany(run: RunText, spec: TableSpec, rows: readonly Row[], ignore: boolean): Promise<number> {
  const columns = Object.keys(spec.columns)
  // Insert in the order of the keys. Otherwise two processes that insert the same rows could deadlock.
  const text = `insert into ${name(spec.table)} (${columns.map(name).join(', ')})
    select ${columns.map((column) => given(spec, column)).join(', ')} from ${recordset(spec, columns)}
    order by ${spec.key.map((column) => `given.${name(column)}`).join(', ')}${ignore ? ' on conflict do nothing' : ''}`
  return runAll(run, text, columns, rows)
}

export async function updateMany(run: RunText, spec: TableSpec, columns: readonly string[], rows: readonly Row[]): Promise<number> {
  if (columns.length === 0) return 0
  const all = [...new Set([...spec.key, ...columns])]
  const text = `update ${name(spec.table)} as kept set ${columns.map((column) => `${name(column)} = ${given(spec, column)}`).join(', ')}
    from ${recordset(spec, all)} where ${sameKey(spec)}`
  return runAll(run, text, all, rows)
}

export async function selectMany(run: RunText, spec: TableSpec, keys: readonly Row[], lock: boolean): Promise<Row[]> {
  const text = `select ${keptColumns(spec)} from ${name(spec.table)} as kept join ${recordset(spec, spec.key)} on ${sameKey(spec)}
    order by ${keptKey(spec)}${lock ? ' for update of kept' : ''}`
  const found: Row[] = []
  for (const json of chunks(spec.key, keys)) found.push(...((await run(text, [json])).rows as Row[]))
  return found
}

export async function selectWhere(run: RunText, spec: TableSpec, where: Row): Promise<Row[]> {
  const values: unknown[] = []
  const conditions = Object.entries(where).map(([column, value]) => {
    if (value === null) return `kept.${name(column)} is null`
    values.push(typeof value === 'object' ? JSON.stringify(value) : value)
    return `kept.${name(column)} = $${values.length}::${GIVEN_TYPE[kindOf(spec, column)]}`
  })
  const condition = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  const text = `select ${keptColumns(spec)} from ${name(spec.table)} as kept${condition} order by ${keptKey(spec)}`
  return (await run(text, values)).rows as Row[]
}

export async function selectOfSubmissions(
  run: RunText,
  spec: TableSpec,
  account: string,
  submissionIds: readonly string[],
  limitEach: number,
): Promise<Row[]> {
  const text = `select ${keptColumns(spec)} from json_array_elements_text($2::json) as given(submission_id) cross join lateral (
      select * from ${name(spec.table)} where account = $1 and submission_id = given.submission_id
      order by ${spec.key.map(name).join(', ')} limit ${limitEach}) as kept`
  return (await run(text, [account, JSON.stringify(submissionIds)])).rows as Row[]
}

async function runAll(run: RunText, text: string, columns: readonly string[], rows: readonly Row[]): Promise<number> {
  let count = 0
  for (const json of chunks(columns, rows)) count += (await run(text, [json])).rowCount ?? 0
  return count
}

/** Splits rows into JSON arrays, one for each statement. A row that exceeds the size limit gets an array of its own. */
function* chunks(columns: readonly string[], rows: readonly Row[]): Generator<string> {
  let chunk: string[] = []
  let length = 0
  for (const row of rows) {
    const json = JSON.stringify(Object.fromEntries(columns.map((column) => [column, row[column]])))
    if (chunk.length > 0 && (length + json.length > MAX_CHUNK_LENGTH || chunk.length >= MAX_CHUNK_ROWS)) {
      yield `[${chunk.join()}]`
      chunk = []
      length = 0
    }
    chunk.push(json)
    length += json.length + 1
  }
  if (chunk.length > 0) yield `[${chunk.join()}]`
}

function recordset(spec: TableSpec, columns: readonly string[]): string {
  const typed = columns.map((column) => `${name(column)} ${GIVEN_TYPE[kindOf(spec, column)]}`)
  return `json_to_recordset($1::json) as given(${typed.join(', ')})`
}

function given(spec: TableSpec, column: string): string {
  return `given.${name(column)}${kindOf(spec, column) === 'raw' ? '::json' : ''}`
}

function sameKey(spec: TableSpec): string {
  return spec.key.map((column) => `kept.${name(column)} = given.${name(column)}`).join(' and ')
}

function keptColumns(spec: TableSpec): string {
  return Object.keys(spec.columns)
    .map((column) => `kept.${name(column)}`)
    .join(', ')
}

function keptKey(spec: TableSpec): string {
  return spec.key.map((column) => `kept.${name(column)}`).join(', ')
}

function kindOf(spec: TableSpec, column: string): ColumnKind {
  const kind = spec.columns[column]
  if (!kind) throw new Error(`${spec.table} has no column ${column}`)
  return kind
}

/** Puts an identifier in quotes. Names of tables and columns contain no quotes, so nothing is escaped. */
function name(identifier: string): string {
  return `"${identifier}"`
}
