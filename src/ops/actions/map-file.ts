import { canonicalJson } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { MappingRow } from '../../store/outbox/push-map.ts'
import { recordsOf } from '../output/csv.ts'

/** Mappings, and a line for each row that cannot be used. */
export interface MapFile {
  readonly rows: readonly MappingRow[]
  readonly problems: readonly string[]
}

export interface MapTarget {
  readonly destination: string
  /** The accounts whose changes it gets. */
  readonly accounts: readonly string[]
}

/** Limits of a file: characters of a cell, and columns. */
const MAX_CELL = 500
const MAX_FIELDS = 50

/**
 * Reads mappings of submissions to clients of an AMS: a CSV (comma, semicolon or tab) whose first line names the columns. Required are
 * `submission_id` and `client`, and `account` where the destination has several; `policy` is optional. Templates and adapters get every
 * further column under its name. Empty lines and lines that begin with `#` are skipped.
 * @param name of the file, for the problems.
 */
export function readMapFile(text: string, name: string, target: MapTarget): MapFile {
  const records = recordsOf(text)
  const columns = records.next().value?.cells
  if (columns === undefined) return { rows: [], problems: [`${name} is empty`] }
  const problems = headingProblems(columns, name, target)
  if (problems.length > 0) return { rows: [], problems }
  const rows = new Map<string, MappingRow>()
  for (const { line, cells, problem: unread } of records) {
    const read = rowOf(new Map(cells.map((cell, index) => [columns[index] ?? '', cell] as const)), target)
    const problem = unread ?? surplusProblem(cells, columns) ?? ('problem' in read ? read.problem : addMapping(rows, read))
    if (problem !== null) problems.push(`${name}, line ${line}: ${problem}`)
  }
  return { rows: [...rows.values()], problems }
}

/** A row as programs give it: its further columns by name. */
export interface GivenRow extends Readonly<Record<'submission_id' | 'client', string>> {
  readonly account?: string | undefined
  readonly policy?: string | undefined
  readonly fields?: Readonly<Record<string, string>> | undefined
}

/** Reads mappings from rows, as `readMapFile` does from a file. */
export function readRows(given: readonly GivenRow[], target: MapTarget): MapFile {
  const problems: string[] = []
  const rows = new Map<string, MappingRow>()
  for (const [index, { fields = {}, ...own }] of given.entries()) {
    const texts = Object.entries({ ...fields, ...own }).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const read = rowOf(new Map(texts), target)
    const taken = Object.keys(fields).find((name) => OWN.includes(name))
    const problem =
      taken === undefined
        ? 'problem' in read
          ? read.problem
          : addMapping(rows, read)
        : `${JSON.stringify(taken)} cannot be the name of a further column`
    if (problem !== null) problems.push(given.length === 1 ? problem : `row ${index + 1}: ${problem}`)
  }
  return { rows: [...rows.values()], problems }
}

/**
 * Adds a mapping to those of one import.
 * @param rows by account and submission.
 * @returns null, or the problem: the submission is mapped twice, with different values.
 */
function addMapping(rows: Map<string, MappingRow>, row: MappingRow): string | null {
  const key = `${row.account} ${row.submissionId}`
  const before = rows.get(key)
  rows.set(key, row)
  const differs = before !== undefined && canonicalJson({ ...before }) !== canonicalJson({ ...row })
  return differs ? `${row.submissionId} is mapped twice, with different values` : null
}

function headingProblems(columns: readonly string[], name: string, { destination, accounts }: MapTarget): string[] {
  const problems: string[] = []
  const needed = accounts.length > 1 ? ['account', 'submission_id', 'client'] : ['submission_id', 'client']
  for (const column of needed) {
    if (columns.includes(column)) continue
    const why = column === 'account' ? `, since ${destination} has several: ${accounts.join(', ')}` : ''
    problems.push(`${name}: the first line must name a column ${column}${why}`)
  }
  for (const column of new Set(columns)) {
    if (column === '') problems.push(`${name}: a column has no name in the first line`)
    else if (columns.filter((each) => each === column).length > 1)
      problems.push(`${name}: the column ${JSON.stringify(column.slice(0, 80))} is there twice`)
  }
  if (columns.length > MAX_FIELDS) problems.push(`${name} has more than ${MAX_FIELDS} columns`)
  return problems
}

/** Without quotes, `Smith, Inc` becomes two cells, and all cells behind it move one column on. Empty cells at the end are ignored. */
function surplusProblem(cells: readonly string[], columns: readonly string[]): string | null {
  if (cells.slice(columns.length).every((cell) => cell === '')) return null
  return `it has ${cells.length} cells, and the first line names ${columns.length} columns; put a cell that holds a separator in quotes`
}

/** A mapping from texts by column. */
function rowOf(texts: ReadonlyMap<string, string>, target: MapTarget): MappingRow | { readonly problem: string } {
  const { destination, accounts } = target
  const given = (column: string) => texts.get(column)?.trim() ?? ''
  const submissionId = parseUuid(given('submission_id'))
  const account = given('account') || (accounts.length === 1 ? (accounts[0] ?? '') : '')
  if (submissionId === null) return { problem: `${JSON.stringify(given('submission_id').slice(0, 80))} is no submission id (a uuid)` }
  if (account === '') return { problem: `the account is missing; ${destination} has ${accounts.join(', ')}` }
  if (!accounts.includes(account)) {
    return { problem: `${JSON.stringify(account.slice(0, 80))} is no account of ${destination}; it has ${accounts.join(', ')}` }
  }
  if (given('client') === '') return { problem: 'the client is missing' }
  const long = [...texts].find(([, text]) => text.length > MAX_CELL)
  if (long) return { problem: `${JSON.stringify(long[0].slice(0, 80))} is longer than ${MAX_CELL} characters` }
  const fields = [...texts]
    .filter(([column, text]) => !OWN.includes(column) && text.trim() !== '')
    .map(([column, text]) => [column, text.trim()])
  return {
    destination,
    account,
    submissionId,
    client: given('client'),
    policy: given('policy') || null,
    fields: Object.fromEntries(fields) as Record<string, string>,
  }
}

const OWN = ['account', 'submission_id', 'client', 'policy', '']
