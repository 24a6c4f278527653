import { describe, expect, it } from 'vitest'
import { entities } from '../../../src/model/entities.ts'
import { type ColumnKind, type Entity, isInChangeLog, ownKey, type Row } from '../../../src/model/entity.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { rowsOf } from '../../tools/mirror.ts'
import { DamageRig, told } from './rig.ts'

/** The service does not say it: whatever its column can hold is taken for right. */
const OURS = new Set(['first_seen_at', 'first_seen_via', 'tracked_at', 'tracked_via', 'error'])
/** A row is reported once, with what the state says of it; `raw` with what differs beside it. These are put right without a word then. */
const BESIDE = new Set([
  'last_event_at',
  'last_message_at',
  'last_activity_at',
  'unreachable_since',
  'tracked_at',
  'tracked_via',
  'insured_id',
  'raw',
])

/** What SQLite lets anybody store in a column of any type. */
const VALUES: readonly ((column: string) => string)[] = [
  () => "'zzz'",
  () => '4711',
  () => '0.5',
  // The very bytes, which are another value to SQLite.
  (column) => `cast(coalesce(${column}, 'zzz') as blob)`,
]

/** Whether a row's column is damaged in a round, and with which of the values. */
type Choose = (at: { readonly round: number; readonly row: number; readonly column: number; readonly columns: number }) => number | null

/** All columns of all rows but for one in five, each with another value. */
const many: Choose = ({ round, row, column }) => {
  const value = (round + row + column) % (VALUES.length + 1)
  return value < VALUES.length ? value : null
}

/** One column of each row; no table has more than twice as many columns as there are rounds, and those that have more have two rows. */
const one: Choose = ({ round, row, column, columns }) =>
  column === (round + row * ROUNDS) % columns ? (round + row) % VALUES.length : null
const ROUNDS = 13

/** What is done to a row, and what a run must say of it. */
function damageOf(entity: Entity, row: Row, choose: (column: number, columns: number) => number | null) {
  const open = Object.entries(entity.columns).filter(([column]) => !entity.key.includes(column))
  const chosen = open.flatMap(([column, kind], index): [string, string][] => {
    const value = choose(index, open.length)
    const text = value === null ? null : (VALUES[value]?.(column) ?? null)
    return text === null || mayBeRight(kind, column, text) ? [] : [[column, text]]
  })
  if (chosen.length === 0) return null
  const key = entity.key.map((column) => `${column} = '${row[column]}'`).join(' and ')
  // A column that is no part of the change log is put right, and told as a difference in `raw`.
  const told = chosen.map(([column]) => (entity.fields[column] !== undefined && isInChangeLog(entity.fields[column]) ? column : 'raw'))
  // The same holds for what another read says of the row.
  const beside = told.filter((column) => !BESIDE.has(column) && entity.fields[column]?.read === undefined)
  const fields = beside.length > 0 ? beside : told.slice(0, 1)
  return {
    statement: `update ${entity.table} set ${chosen.map(([column, text]) => `${column} = ${text}`).join(', ')} where ${key}`,
    found: `${['different', entity.table, ...ownKey(entity).map((column) => row[column])].join(' ')} (${fields.sort().join(', ')})`,
  }
}

/** A word in a column of ours. */
function mayBeRight(kind: ColumnKind, column: string, value: string): boolean {
  return OURS.has(column) && kind === 'text' && !value.startsWith('cast')
}

/** Without what is seen anew when it was damaged, and without the time at which a view was made. */
function content(tables: Readonly<Record<string, readonly Row[]>>): unknown[] {
  const passes = (table: string, column: string) => OURS.has(column) || (table === 'submissions' && column === 'raw')
  return entities.map(({ table }) =>
    tables[table]?.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => !passes(table, column)))),
  )
}

/** Postgres takes nothing into a column that is not of its type. */
describe('values of any type on sqlite', () => {
  it.each([
    ['in most columns of every row', 5, many],
    ['in one column of every row', ROUNDS, one],
  ] as const)('%s: each run finds exactly them and repairs them, and the last finds nothing', async (_, rounds, choose) => {
    const rig = await DamageRig.open(sqliteDatabase)
    const before = content(await rig.state())
    for (let round = 0; round < rounds; round++) {
      const damages = []
      for (const entity of entities) {
        for (const [index, row] of (await rowsOf(rig.db, entity)).entries()) {
          damages.push(damageOf(entity, row, (column, columns) => choose({ round, row: index, column, columns })))
        }
      }
      const made = damages.filter((damage) => damage !== null)
      await rig.damage(...made.map(({ statement }) => statement))
      const ended = await rig.reconcile()
      expect({ code: ended.code, err: ended.err, found: told(ended.findings) }).toEqual({
        code: 0,
        err: '',
        found: made.map(({ found }) => found).sort(),
      })
      expect(ended.findings.filter((finding) => finding.repaired_at === null)).toEqual([])
    }
    expect(content(await rig.state())).toEqual(before)
    expect(await rig.differences()).toEqual([])
    expect(await rig.unlogged()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('in keys: the rows that had them are missing, those that have them now are absent, and known from then on', async () => {
    const rig = await DamageRig.open(sqliteDatabase)
    const statements: string[] = []
    const found: string[] = []
    for (const entity of entities) {
      const row = (await rowsOf(rig.db, entity)).find(({ submission_id }) => submission_id === rig.rich)
      if (row === undefined) continue
      const last = entity.key.at(-1) ?? ''
      const where = entity.key.map((column) => `${column} = '${row[column]}'`).join(' and ')
      statements.push(`update ${entity.table} set ${last} = cast(${last} as blob) where ${where}`)
      const ids = ownKey(entity).map((column) => row[column])
      found.push(['missing', entity.table, ...ids].join(' '))
      const blob = `x'${Buffer.from(String(row[last])).toString('hex')}'`
      // Nothing of a submission whose id is none is looked at.
      if (last !== 'submission_id') found.push(['absent', entity.table, ...ids.slice(0, -1), blob].join(' '))
    }
    await rig.damage(...statements)
    const ended = await rig.reconcile()
    expect({ code: ended.code, err: ended.err, found: told(ended.findings) }).toEqual({ code: 0, err: '', found: found.sort() })
    expect(ended.findings.filter((finding) => finding.repaired_at === null)).toEqual([])
    const next = await rig.reconcile()
    expect({ code: next.code, left: next.findings.filter(({ standing }) => !standing) }).toEqual({ code: 0, left: [] })
  })
})
