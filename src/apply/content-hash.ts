import { createHash } from 'node:crypto'
import { comparableText } from '../base/sealed.ts'
import { entities } from '../model/entities.ts'
import { columnsWhere, type Row } from '../model/entity.ts'
import type { StateFact } from '../model/facts.ts'
import type { Json } from '../model/json.ts'
import type { Protection } from '../model/protection/protection.ts'
import { withoutGenerated } from './generated.ts'
import { protectFacts } from './protect-facts.ts'

/** Another column, read from the same answer by a newer program, makes every answer a new one. */
const TABLES = entities.map(({ table, columns }) => [table, Object.keys(columns)])

const volatile: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  entities.map((entity) => [entity.table, new Set(columnsWhere(entity, (field) => field.volatile === true))]),
)

/**
 * @returns a hash of what a state read shows, without what differs at every read. Two reads with the same hash, and no change of the submission
 * between them, leave the mirror as it is. Tax ids enter it in their protected form, so that nobody can try them against it.
 */
export function contentHash(protection: Protection, given: StateFact): string {
  const [fact = given] = protectFacts(protection, [given])
  const { submission, lists, unreadable } = fact.view
  const shown = [
    fact.submissionId,
    fact.ownId ?? null,
    submission && shownRow('submissions', submission),
    ...lists.map(({ table, of, rows, whole }) => [table, of, whole, rows.map((row) => shownRow(table, row))]),
    unreadable,
  ]
  return createHash('sha256')
    .update(comparableText(JSON.stringify([TABLES, shown])))
    .digest('base64')
}

function shownRow(table: string, row: object): [string, Json][] {
  const left = volatile.get(table)
  return Object.entries(row as Row)
    .filter(([column]) => left?.has(column) !== true)
    .map(([column, value]) => [column, typeof value === 'string' && value.startsWith('{') ? withoutGenerated(value) : (value ?? null)])
}
