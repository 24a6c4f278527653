import { createHash } from 'node:crypto'
import { comparableText } from '../base/sealed.ts'
import { entities } from '../model/entities.ts'
import { columnsWhere, type Row } from '../model/entity.ts'
import type { Json } from '../model/json.ts'
import type { StateObservation } from '../model/observations.ts'
import type { Protection } from '../model/protection/protection.ts'
import { withoutGenerated } from './generated.ts'
import { protectObservations } from './protect-observations.ts'

/**
 * Every table with its columns. Each hash includes them. After a new column is added, all hashes differ, so each state
 * read is applied again and fills the new column.
 */
const TABLES = entities.map(({ table, columns }) => [table, Object.keys(columns)])

const volatile: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  entities.map((entity) => [entity.table, new Set(columnsWhere(entity, (field) => field.volatile === true))]),
)

/**
 * @returns a hash of a state read. Leaves out values that differ at every read. If the hash equals that of the
 * submission's last applied read, applying this read would change only the values left out. Tax ids are hashed in
 * protected form. Otherwise the hash could confirm a guessed tax id.
 */
export function contentHash(protection: Protection, given: StateObservation): string {
  const [observation = given] = protectObservations(protection, [given])
  const { submission, lists, unreadable } = observation.view
  const shown = [
    observation.submissionId,
    observation.ownId ?? null,
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
