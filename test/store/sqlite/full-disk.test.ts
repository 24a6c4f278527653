import { sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import type { Db, Tx } from '../../../src/store/engine/db.ts'
import { newSqlite, openAgain } from '../../tools/databases.ts'
import { copyMigrated } from '../../tools/migrated.ts'

const MORE_THAN_A_PAGE = 'x'.repeat(50_000)

let place: ReturnType<typeof newSqlite>
let db: Db

beforeEach(async () => {
  place = newSqlite()
  await copyMigrated(place.config.path)
  db = await openAgain(place.config)
})
afterEach(async () => {
  await db.close()
  await place.remove()
})

/** Limits the database to `pages` pages, or its current size, like a full disk. */
async function limitTo(pages: number, options: { readonly onWorkerThread?: boolean } = {}): Promise<void> {
  await db.write('limit', (tx) => tx.run(sql`pragma max_page_count = ${sql.lit(pages)}`), options)
}

async function insert(tx: Tx, account: string, name = 'n'): Promise<void> {
  await tx.sql.insertInto('sync_counters').values({ account, name, label: '', value: 1 }).execute()
}

async function accounts(): Promise<string[]> {
  const rows = await db.read.sql.selectFrom('sync_counters').select('account').orderBy('account').execute()
  return rows.map((row) => row.account)
}

// A full disk ends the transaction. A later statement would be committed separately.
it.each([{}, { onWorkerThread: true }])(
  'nothing of a transaction stays that a full disk ended in its middle, with any next step (%o)',
  async (options) => {
    await limitTo(1, options)
    const swallowing = db.write(
      'swallow',
      async (tx) => {
        await insert(tx, 'before')
        await insert(tx, 'too-large', MORE_THAN_A_PAGE).catch(() => undefined)
        await insert(tx, 'after')
      },
      options,
    )
    await expect(swallowing).rejects.toThrow(TransientError)
    await expect(swallowing).rejects.toThrow(/mirror\.db cannot grow: the disk is full/)
    const atOnce = db.write(
      'at-once',
      async (tx) => {
        await Promise.all([insert(tx, 'too-large', MORE_THAN_A_PAGE), insert(tx, 'beside')])
      },
      options,
    )
    await expect(atOnce).rejects.toThrow(/mirror\.db cannot grow: the disk is full/)
    expect(await accounts()).toEqual([])
    await limitTo(1_000_000, options)
    await db.write('again', (tx) => insert(tx, 'again', MORE_THAN_A_PAGE), options)
    expect(await accounts()).toEqual(['again'])
  },
)
