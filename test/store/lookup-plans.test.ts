import { type CompiledQuery, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Db, Query } from '../../src/store/engine/db.ts'
import { createKysely } from '../../src/store/engine/kysely.ts'
import { consoleLookups, lookups } from '../bench/lookups/asked.ts'
import { openFilled } from '../bench/lookups/filled.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'

/** Small, and large enough that an index is worth its while. */
const SCALE = { submissions: 400, events: 20_000 }
const LOOKUPS = [...lookups(SCALE), ...consoleLookups(SCALE)]
/** The newest deliveries wait: lists of an account pass over them, or read them by their own index. */
const WAITING = 1_000

/** @returns the statements that a lookup makes; what it asks later depends on what was answered. */
async function statementsOf(db: Db, run: (db: Db, n: number) => Promise<unknown>): Promise<CompiledQuery[]> {
  const asked: CompiledQuery[] = []
  const noting = createKysely(db.kind, async (query) => {
    asked.push(query)
    return await db.read.sql.executeQuery(query)
  })
  const { kind, clock, signals, protection, seen, listsDocuments } = db
  const read: Query = {
    ...{ kind, clock, signals, protection, seen, listsDocuments, sql: noting },
    selectMany: (...given) => db.read.selectMany(...given),
    selectWhere: (...given) => db.read.selectWhere(...given),
    selectOfSubmissions: (...given) => db.read.selectOfSubmissions(...given),
  }
  await run({ kind, clock, signals, read } as Db, 1)
  return asked
}

/** What a lookup reads is found by indexes: the same work with millions of rows as with a few. `npm run bench -- lookups` has the times. */
describe('each lookup, on SQLite,', () => {
  const place = newSqlite()
  let db: Db

  beforeAll(async () => {
    ;({ db } = await openFilled(place.config, SCALE))
  })

  afterAll(async () => {
    await db.close()
    await place.remove()
  })

  it.each(LOOKUPS)('$name: goes by indexes alone', async ({ run }) => {
    for (const query of await statementsOf(db, run)) {
      const { rows } = await sql<{ detail: string }>`explain query plan ${sql.raw(withValues(query))}`.execute(db.read.sql)
      const steps = rows.map(({ detail }) => detail).filter((detail) => /^(SEARCH|SCAN)/.test(detail))
      expect(steps.length).toBeGreaterThan(0)
      for (const step of steps)
        expect(step).toMatch(
          /^(SEARCH .* USING|SCAN (known|part|parts|few|met|counted|each_one|freshness|open_items|\d+|CONSTANT ROW|d|.* VIRTUAL TABLE|sync_inbox USING INDEX sync_inbox_ready))/,
        )
    }
  })
})

interface Plan {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

describe('each lookup, on Postgres,', () => {
  const place = newPostgres(inject('postgresUrl'))
  let db: Db

  beforeAll(async () => {
    ;({ db } = await openFilled(place.config, SCALE))
  })

  afterAll(async () => {
    await db.close()
    await place.remove()
  })

  it.each(LOOKUPS)('$name: looks at no more rows than it shows, or than its submission has', async ({ run }) => {
    for (const query of await statementsOf(db, run)) {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`
        explain (analyze, format json) ${sql.raw(withValues(query))}`.execute(db.read.sql)
      const [explained] = JSON.parse(rows[0]?.['QUERY PLAN'] ?? '[]') as [{ Plan: Plan }]
      expect(mostRows(explained.Plan), JSON.stringify(explained)).toBeLessThanOrEqual(400 + WAITING)
    }
  })
})

/** The most rows that one step of a plan looked at. */
function mostRows(plan: Plan): number {
  const own = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  return Math.max(own, ...(plan.Plans ?? []).map(mostRows))
}

/** The statement with its parameters written into it. */
function withValues({ sql: text, parameters }: CompiledQuery): string {
  const written = parameters.map((value) => (typeof value === 'number' ? String(value) : `'${String(value)}'`))
  let n = 0
  return text.replace(/\?|\$(\d+)/g, (_, position?: string) => written[position === undefined ? n++ : Number(position) - 1] ?? 'null')
}
