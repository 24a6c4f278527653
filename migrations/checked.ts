import type { ColumnTypes } from '../src/store/schema/migration.ts'

type Define = (column: string) => string

const DIGIT = '[0-9]'
const digits = (form: string) => `'${form.replaceAll('0', DIGIT)}'`
const DATE = digits('0000-00-00')
const TIME = digits('0000-00-00T00:00:00.000000Z')

const isOf = (type: string, column: string) => `typeof(${column}) in ('${type}', 'null')`
const isText = (column: string) => isOf('text', column)

/** Defines columns by kind. SQLite stores a value of any type in any column; a check refuses what Postgres would refuse. */
export function checkedColumns(t: ColumnTypes) {
  const define =
    (type: string, isValid: Define): Define =>
    (column) =>
      t.kind === 'sqlite' ? `${column} ${type} check (${isValid(column)})` : `${column} ${type}`
  return {
    text: define('text', isText),
    id: define(t.id, isText),
    raw: define(t.raw, isText),
    date: define(t.date, (column) => `${isText(column)} and ${column} glob ${DATE}`),
    time: define(t.time, (column) => `${isText(column)} and ${column} glob ${TIME}`),
    json: define(t.json, (column) => `${isText(column)} and json_valid(${column})`),
    int: define(t.int, (column) => isOf('integer', column)),
    real: define(t.real, (column) => isOf('real', column)),
    bool: define(t.bool, (column) => `${column} in (0, 1)`),
  }
}
