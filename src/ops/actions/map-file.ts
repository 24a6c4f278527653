import { canonicalJson } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { MappingRow } from '../../store/outbox/push-map.ts'
import { recordsOf } from '../output/csv.ts'

/** The valid mappings, and one line of text per problem. */
export interface MapFile {
  readonly rows: readonly MappingRow[]
  readonly problems: readonly string[]
}

export interface MapTarget {
  readonly destination: string
  /** Accounts whose changes the destination gets. */
  readonly accounts: readonly string[]
}

/** Maximum characters of a cell. */
const MAX_CELL = 500
const MAX_FIELDS = 50

/**
 * Reads a CSV file of submissions and their AMS clients. The separator is a comma, semicolon or tab.
 * - Required columns: `submission_id`, `client`, and `account` if the destination has several accounts.
 * - Optional columns: `policy`, and columns that templates use.
 * - Empty lines and lines that start with `#` are skipped.
 *
 * @param name file name for problem texts.
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

/** A mapping from JSON. `fields` contains values for templates, by name. */
export interface GivenRow extends Readonly<Record<'submission_id' | 'client', string>> {
  readonly account?: string | undefined
  readonly policy?: string | undefined
  readonly fields?: Readonly<Record<string, string>> | undefined
}

/** Validates mappings from JSON. */
export function readRows(given: readonly GivenRow[], target: MapTarget): MapFile {
  const problems: string[] = []
  const rows = new Map<string, MappingRow>()
  for (const [index, { fields = {}, ...own }] of given.entries()) {
    const texts = Object.entries({ ...fields, ...own }).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const read = rowOf(new Map(texts), target)
    const taken = Object.keys(fields).find((name) => OWN.includes(name))
    const nameProblem = taken === undefined ? null : `${JSON.stringify(taken)} is not allowed as a name in fields`
    const problem = nameProblem ?? ('problem' in read ? read.problem : addMapping(rows, read))
    if (problem !== null) problems.push(given.length === 1 ? problem : `row ${index + 1}: ${problem}`)
  }
  return { rows: [...rows.values()], problems }
}

/**
 * Adds a mapping to `rows`.
 * @returns a problem if the submission is already mapped with different values, else null.
 */
function addMapping(rows: Map<string, MappingRow>, row: MappingRow): string | null {
  const key = `${row.account} ${row.submissionId}`
  const before = rows.get(key)
  rows.set(key, row)
  const differs = before !== undefined && canonicalJson({ ...before }) !== canonicalJson({ ...row })
  return differs ? `${row.submissionId} is mapped twice with different values` : null
}

function headingProblems(columns: readonly string[], name: string, { destination, accounts }: MapTarget): string[] {
  const problems: string[] = []
  const needed = accounts.length > 1 ? ['account', 'submission_id', 'client'] : ['submission_id', 'client']
  for (const column of needed) {
    if (columns.includes(column)) continue
    const why = column === 'account' ? `, because ${destination} has several accounts: ${accounts.join(', ')}` : ''
    problems.push(`${name}: the first line must contain a column ${column}${why}`)
  }
  for (const column of new Set(columns)) {
    if (column === '') problems.push(`${name}: the first line contains an unnamed column`)
    else if (columns.filter((each) => each === column).length > 1)
      problems.push(`${name}: the first line contains column ${JSON.stringify(column.slice(0, 80))} twice`)
  }
  if (columns.length > MAX_FIELDS) problems.push(`${name} has more than ${MAX_FIELDS} columns`)
  return problems
}

/**
 * @returns a problem if a row has more cells than the first line, else null. Empty cells at the end don't count.
 * The usual cause is a separator in an unquoted cell, such as `Smith, Inc`.
 */
function surplusProblem(cells: readonly string[], columns: readonly string[]): string | null {
  if (cells.slice(columns.length).every((cell) => cell === '')) return null
  return `the row has ${cells.length} cells, but the first line has ${columns.length} columns. Quote cells that contain a separator`
}

function rowOf(texts: ReadonlyMap<string, string>, target: MapTarget): MappingRow | { readonly problem: string } {
  const { destination, accounts } = target
  const given = (column: string) => texts.get(column)?.trim() ?? ''
  const submissionId = parseUuid(given('submission_id'))
  const account = given('account') || (accounts.length === 1 ? (accounts[0] ?? '') : '')
  if (submissionId === null) return { problem: `${JSON.stringify(given('submission_id').slice(0, 80))} is not a submission id (a uuid)` }
  if (account === '') return { problem: `the account is missing; ${destination} has ${accounts.join(', ')}` }
  if (!accounts.includes(account)) {
    return { problem: `${JSON.stringify(account.slice(0, 80))} is not an account of ${destination}; it has ${accounts.join(', ')}` }
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
