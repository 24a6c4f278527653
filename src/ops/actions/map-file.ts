import { canonicalJson } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { MappingRow } from '../../store/outbox/push-map.ts'
import { recordsOf } from '../output/csv.ts'

/** The mappings of a file, and a line for each row that cannot be used. */
export interface MapFile {
  readonly rows: readonly MappingRow[]
  readonly problems: readonly string[]
}

export interface MapTarget {
  readonly destination: string
  /** The accounts that it gets changes of. */
  readonly accounts: readonly string[]
}

/** What a file may hold at most: one cell, and one row's further columns. */
const MAX_CELL = 500
const MAX_FIELDS = 50

/**
 * Reads which client (and policy) of an AMS each submission belongs to: a CSV (comma, semicolon or tab) whose first line names its columns.
 * `submission_id` and `client` are needed; `account` only where the destination has several; `policy` may be there; every further column is
 * handed to templates and adapters under its own name. Empty lines and those that begin with `#` are passed over.
 * @param name of the file, for the problems.
 */
export function readMapFile(text: string, name: string, target: MapTarget): MapFile {
  const records = recordsOf(text)
  const columns = records.next().value?.cells
  if (columns === undefined) return { rows: [], problems: [`${name} has nothing in it`] }
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

/**
 * Adds a mapping to those of one import, by account and submission.
 * @returns null, or what is wrong: the submission is among them with other values.
 */
export function addMapping(rows: Map<string, MappingRow>, row: MappingRow): string | null {
  const key = `${row.account} ${row.submissionId}`
  const before = rows.get(key)
  rows.set(key, row)
  const differs = before !== undefined && canonicalJson({ ...before }) !== canonicalJson({ ...row })
  return differs ? `${row.submissionId} stands there twice, with different values` : null
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

/** Without quotes, `Smith, Inc` is cut in two, and each cell behind it stands under another's name. Empty ones at the end say nothing. */
function surplusProblem(cells: readonly string[], columns: readonly string[]): string | null {
  if (cells.slice(columns.length).every((cell) => cell === '')) return null
  return `it has ${cells.length} cells, and the first line names ${columns.length} columns; put a cell that holds a separator in quotes`
}

/** @returns what is wrong with a further column of that name, which would be taken for the mapping's own, or get lost; null for nothing. */
export function fieldProblem(name: string): string | null {
  return OWN.includes(name) ? `${JSON.stringify(name)} cannot be the name of a further column` : null
}

/** A mapping out of named texts, as a file's row or a command line gives them. */
export function rowOf(texts: ReadonlyMap<string, string>, target: MapTarget): MappingRow | { readonly problem: string } {
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
    ...{ destination, account, submissionId, client: given('client'), policy: given('policy') || null },
    fields: Object.fromEntries(fields) as Record<string, string>,
  }
}

const OWN = ['account', 'submission_id', 'client', 'policy', '']
