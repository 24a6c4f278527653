import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, storableJson, storableText } from '../../../src/model/json.ts'
import type { TableSpec } from '../../../src/store/engine/db.ts'
import { columnTypes } from '../../../src/store/schema/migration.ts'
import { type OpenedDatabase, testDatabases } from '../../tools/databases.ts'

const spec = {
  table: 'every_kind',
  key: ['account', 'id'],
  columns: {
    account: 'text',
    id: 'text',
    a_text: 'text',
    an_int: 'int',
    a_bool: 'bool',
    a_json: 'json',
    a_time: 'time',
    a_date: 'date',
    a_raw: 'raw',
  },
} as const satisfies TableSpec

interface Kinds {
  [column: string]: Json
  account: string
  id: string
}

const text = fc.string({ unit: 'binary', maxLength: 40 }).map(storableText)
const day = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true })
  .map((date) => date.toISOString())
const nothing = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })

/** JSON as both databases give it back: nothing in it that JSON itself changes, such as -0. */
const json = fc.jsonValue({ noUnicodeString: false }).map((value) => storableJson(JSON.parse(JSON.stringify(value)) as Json))

/** JSON text as it is kept of an answer, with escapes that no text column could hold. */
const raw = fc
  .tuple(
    fc.jsonValue({ noUnicodeString: false }),
    fc.constantFrom('\\u0000', '\\ud800', '\\udc00 \\u00e9', '"'.replace('"', '\\"'), '\\\\'),
    fc.nat(4),
  )
  .map(([value, escaped, indent]) => JSON.stringify({ value }, null, indent).replace(/\}$/, `,"escaped":"${escaped}"}`))

const row: fc.Arbitrary<Kinds> = fc.record({
  account: text,
  id: text,
  a_text: nothing(text),
  an_int: nothing(fc.maxSafeInteger()).map((value) => (value === 0 ? 0 : value)),
  a_bool: nothing(fc.boolean()),
  a_json: json,
  a_time: nothing(fc.tuple(day, fc.nat(999_999)).map(([date, micros]) => `${date.slice(0, 19)}.${String(micros).padStart(6, '0')}Z`)),
  a_date: nothing(day.map((date) => date.slice(0, 10))),
  a_raw: nothing(raw),
})
const rowsByKey = fc.uniqueArray(row, { selector: (one) => JSON.stringify([one.account, one.id]), minLength: 1, maxLength: 12 })

function byKey<T extends { [column: string]: Json }>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => (JSON.stringify([a['account'], a['id']]) < JSON.stringify([b['account'], b['id']]) ? -1 : 1))
}

function aRow(id: string, more: { [column: string]: Json } = {}): Kinds {
  return { account: 'acme', id, a_text: null, an_int: null, a_bool: null, a_json: null, a_time: null, a_date: null, a_raw: null, ...more }
}

describe.each(testDatabases)('rows on $name', ({ open }) => {
  let opened: OpenedDatabase

  beforeAll(async () => {
    opened = await open({ migrated: false })
    const t = columnTypes[opened.db.kind]
    await opened.db.write('create', async (tx) => {
      if (opened.config.kind === 'postgres') await tx.run(sql`create schema ${sql.id(opened.config.schema)}`)
      await tx.run(
        sql.raw(
          `create table every_kind (account text not null, id text not null, a_text text, an_int ${t.int}, a_bool ${t.bool},
          a_json ${t.json}, a_time ${t.time}, a_date ${t.date}, a_raw ${t.raw}, primary key (account, id))`,
        ),
      )
    })
  })
  afterAll(() => opened.close())

  async function emptied(): Promise<void> {
    await opened.db.write('empty', (tx) => tx.run(sql`delete from every_kind`))
  }

  it('trap 72: are read as written: odd text made storable, and raw with its escapes of U+0000 and lone surrogates', async () => {
    await fc.assert(
      fc.asyncProperty(rowsByKey, async (rows) => {
        await emptied()
        expect(await opened.db.write('insert', (tx) => tx.insertMany(spec, rows))).toBe(rows.length)
        expect(byKey(await opened.db.read.selectMany(spec, rows))).toEqual(byKey(rows))
        expect(byKey(await opened.db.read.selectWhere(spec, {}))).toEqual(byKey(rows))
      }),
      { numRuns: 150 },
    )
  })

  it('keep the other columns in an update of some', async () => {
    const columns = ['a_text', 'an_int', 'a_bool', 'a_json', 'a_time', 'a_date', 'a_raw']
    await fc.assert(
      fc.asyncProperty(rowsByKey, row, fc.subarray(columns), async (rows, change, changed) => {
        await emptied()
        const updates = rows.map(({ account, id }) => ({ ...change, account, id }))
        const count = await opened.db.write('update', async (tx) => {
          await tx.insertMany(spec, rows)
          return tx.updateMany(spec, changed, [...updates, { ...change, account: 'nobody', id: 'no such row' }])
        })
        expect(count).toBe(changed.length === 0 ? 0 : rows.length)
        const picked = Object.fromEntries(changed.map((column) => [column, change[column] ?? null]))
        expect(byKey(await opened.db.read.selectMany(spec, rows))).toEqual(byKey(rows.map((one) => ({ ...one, ...picked }))))
      }),
      { numRuns: 60 },
    )
  })

  it('skip existing keys with `ignore`, and reject them otherwise', async () => {
    await emptied()
    const first = [aRow('1', { a_text: 'kept' }), aRow('2')]
    await opened.db.write('insert', (tx) => tx.insertMany(spec, first))
    const more = [aRow('2'), aRow('1', { a_text: 'new' }), aRow('3')]
    expect(await opened.db.write('insert', (tx) => tx.insertMany(spec, more, { ignore: true }))).toBe(1)
    await expect(opened.db.write('insert', (tx) => tx.insertMany(spec, [aRow('4'), aRow('1')]))).rejects.toThrow(/unique/i)
    const kept = await opened.db.read.selectWhere(spec, { account: 'acme' })
    expect(kept.map((one) => [one['id'], one['a_text']])).toEqual([
      ['1', 'kept'],
      ['2', null],
      ['3', null],
    ])
  })

  it('trap 69: store cents beyond 32 bits exactly', async () => {
    await emptied()
    const rows = [aRow('1', { an_int: 2 ** 31 }), aRow('2', { an_int: -(2 ** 40) - 1 }), aRow('3', { an_int: Number.MAX_SAFE_INTEGER })]
    await opened.db.write('insert', (tx) => tx.insertMany(spec, rows))
    expect(await opened.db.read.selectMany(spec, rows)).toEqual(rows)
  })

  it('are found by columns, including null', async () => {
    await emptied()
    const rows = [aRow('1', { a_bool: true }), aRow('2', { a_bool: false }), aRow('3', { a_time: '2026-01-31T08:00:00.000001Z' })]
    await opened.db.write('insert', (tx) => tx.insertMany(spec, rows))
    const ids = async (where: { [column: string]: Json }) => (await opened.db.read.selectWhere(spec, where)).map((one) => one['id'])
    expect(await ids({ account: 'acme', a_bool: true })).toEqual(['1'])
    expect(await ids({ a_bool: null })).toEqual(['3'])
    expect(await ids({ a_time: '2026-01-31T08:00:00.000001Z' })).toEqual(['3'])
    expect(await ids({ a_time: '2026-01-31T08:00:00.000000Z' })).toEqual([])
  })

  it('may exceed the size of one statement', async () => {
    await emptied()
    const rows = Array.from({ length: 12_000 }, (_, i) => aRow(String(i).padStart(6, '0'), { an_int: i, a_raw: `{"i":${i}}` }))
    for (let i = 0; i < 4; i++)
      rows[i * 100] = aRow(String(i * 100).padStart(6, '0'), { a_raw: JSON.stringify({ big: 'é'.repeat(3_000_000) }) })
    await opened.db.write('insert', async (tx) => {
      expect(await tx.insertMany(spec, rows)).toBe(rows.length)
      expect(
        await tx.updateMany(
          spec,
          ['a_text'],
          rows.map((one) => ({ ...one, a_text: 'seen' })),
        ),
      ).toBe(rows.length)
    })
    const kept = await opened.db.read.selectMany(spec, rows)
    expect(kept.length).toBe(rows.length)
    expect(byKey(kept)).toEqual(rows.map((one) => ({ ...one, a_text: 'seen' })))
  })

  it('are empty for no keys', async () => {
    await opened.db.write('none', async (tx) => {
      expect(await tx.insertMany(spec, [])).toBe(0)
      expect(await tx.updateMany(spec, ['a_text'], [])).toBe(0)
      expect(await tx.selectMany(spec, [], { lock: true })).toEqual([])
    })
  })
})
