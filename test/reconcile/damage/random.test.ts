import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entities, rawNames } from '../../../src/model/entities.ts'
import type { ColumnKind, Entity, Row } from '../../../src/model/entity.ts'
import { DROPPED } from '../../../src/model/protection/protection.ts'
import { Prng } from '../../../src/sandbox/world/prng.ts'
import { onSqlite } from '../../tools/databases.ts'
import { rowsOf } from '../../tools/mirror.ts'
import { DamageRig, findingTexts } from './rig.ts'

const ROUNDS = 4

/** Columns that don't come from the service directly. */
const OURS = new Set(['first_seen_at', 'first_seen_via', 'tracked_at', 'tracked_via', 'gone_at', 'unreachable_since', 'document_key'])
const PLACE = new Set(['account', 'submission_id'])
const FOLLOWS = new Set([
  'last_event_at',
  'last_message_at',
  'last_activity_at',
  'state_source',
  'state_event_id',
  'state_occurred_at',
  ...rawNames,
])

function otherValue(column: string, kind: ColumnKind, prng: Prng): string {
  const n = prng.int(0, 999_999)
  switch (kind) {
    case 'int':
    case 'real':
      return String(n)
    case 'bool':
      return `not coalesce(${column}, false)`
    case 'json':
      return `'[${n}]'`
    case 'date':
      return `'20${10 + (n % 80)}-02-03'`
    case 'time':
      return `'20${10 + (n % 80)}-02-03T04:05:06.${String(n).padStart(6, '0')}Z'`
    default:
      return `'damaged ${n}'`
  }
}

/** Anything may be missing or wrong: a run must find and repair exactly that. */
describe.each(onSqlite)('rows taken out and changed at random, on $name', (database) => {
  const closing: (() => Promise<void>)[] = []
  let rig: DamageRig
  beforeAll(async () => {
    rig = await DamageRig.open(database, (close) => closing.push(close))
  })
  afterAll(async () => {
    for (const close of closing) await close()
  })

  function statementFor(entity: Entity, row: Row, prng: Prng): { statement: string; columns: string[] | null } | null {
    const where = entity.key.map((column) => `${column} = '${row[column]}'`).join(' and ')
    const dice = prng.int(0, 99)
    if (dice < 12) return { statement: `delete from ${entity.table} where ${where}`, columns: null }
    if (dice >= 30) return null
    const isOurs = (column: string) =>
      OURS.has(column) || FOLLOWS.has(column) || entity.fields[column]?.local === true || entity.fields[column]?.volatile === true
    // Any value instead of a tax id counts as protected.
    const open = Object.keys(entity.columns).filter((column) => !entity.key.includes(column) && !isOurs(column) && row[column] !== DROPPED)
    const columns = open.filter(() => prng.int(0, 3) === 0)
    if (columns.length === 0) return null
    const set = columns.map((column) => `${column} = ${otherValue(column, entity.columns[column] as ColumnKind, prng)}`).join(', ')
    return { statement: `update ${entity.table} set ${set} where ${where}`, columns }
  }

  /** Rows without first-seen and generation times, which may differ after a repair. */
  async function content(): Promise<Record<string, Row[]>> {
    const tables: Record<string, Row[]> = {}
    const state = await rig.state()
    for (const entity of entities) {
      tables[entity.table] = (state[entity.table] ?? []).map((row) =>
        Object.fromEntries(
          Object.entries(row).filter(
            ([column]) => (!OURS.has(column) || column === 'gone_at') && !(entity.table === 'submissions' && column === 'raw'),
          ),
        ),
      )
    }
    return tables
  }

  it.each(Array.from({ length: ROUNDS }, (_, round) => round))('round %i', async (round) => {
    const prng = new Prng(`damage ${database.name} ${round}`)
    const before = await content()
    const statements: string[] = []
    const expected: string[] = []
    for (const entity of entities) {
      for (const row of await rowsOf(rig.db, entity)) {
        const made = statementFor(entity, row, prng)
        if (made === null) continue
        statements.push(made.statement)
        const key = entity.key.filter((column) => !PLACE.has(column)).map((column) => row[column])
        expected.push([made.columns === null ? 'missing' : 'different', entity.table, ...key].join(' '))
      }
    }
    await rig.damage(...statements)
    const withoutFields = (found: readonly string[]) => found.map((text) => text.replace(/ \(.*\)$/, '')).sort()
    const dry = await rig.reconcile('--dry-run')
    const ended = await rig.reconcile()
    expect({ code: ended.code, err: ended.err, found: withoutFields(findingTexts(ended.findings)) }).toEqual({
      code: 0,
      err: '',
      found: expected.sort(),
    })
    expect({ code: dry.code, found: findingTexts(dry.findings) }).toEqual({ code: 3, found: findingTexts(ended.findings) })
    expect(await content()).toEqual(before)
    expect(await rig.unlogged()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })
})
