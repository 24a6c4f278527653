import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { entities } from '../../../src/model/entities.ts'
import type { ColumnKind, Entity, Row } from '../../../src/model/entity.ts'
import { changes } from '../../../src/store/schema/log.ts'
import { specOf } from '../../../src/store/schema/table.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const BLOB = "x'7a7a'"
const TIME = '2026-01-05T12:00:00.000000Z'

/** A valid value of each kind, and expressions of SQL for invalid ones. */
const values: Readonly<Record<ColumnKind, { readonly valid: Row[string]; readonly invalid: readonly string[] }>> = {
  text: { valid: 'zzz', invalid: [BLOB] },
  raw: { valid: '{"a":1}', invalid: [BLOB] },
  date: { valid: '2026-01-05', invalid: ["'zzz'", "'2026-1-5'", '4711', "cast('2026-01-05' as blob)"] },
  time: { valid: TIME, invalid: ["'zzz'", "'2026-01-05T12:00:00Z'", '4711', `cast('${TIME}' as blob)`] },
  int: { valid: 4711, invalid: ['0.5', '1e300', "'zzz'", BLOB] },
  real: { valid: 0.25, invalid: ["'zzz'", BLOB] },
  bool: { valid: true, invalid: ['2', '-1', '0.5', "'true'", BLOB] },
  json: { valid: ['zzz'], invalid: ["'zzz'", "''", "'['", "cast('[]' as blob)"] },
}

const tables: readonly Pick<Entity, 'table' | 'key' | 'columns'>[] = [...entities, specOf(changes)]

it.each(tables)('$table rejects every value that is not of the kind of its column, on SQLite', async (spec) => {
  const { db } = await closedAtEnd(sqliteDatabase.open())
  const row = Object.fromEntries(Object.entries(spec.columns).map(([column, kind]) => [column, values[kind].valid]))
  await db.write('test', (tx) => tx.insertMany(spec, [row]))
  expect(await db.read.selectWhere(spec, {})).toEqual([row])
  for (const [column, kind] of Object.entries(spec.columns)) {
    for (const value of values[kind].invalid) {
      const update = sql`update ${sql.table(spec.table)} set ${sql.ref(column)} = ${sql.raw(value)}`
      await expect(
        db.write('test', (tx) => tx.run(update)),
        `${column} = ${value}`,
      ).rejects.toThrow(/CHECK constraint failed|datatype mismatch/)
    }
  }
})
