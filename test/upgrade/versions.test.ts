import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrations } from '../../migrations/index.ts'
import { inApplyTransaction } from '../../src/apply/apply.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { checkLogEpoch } from '../../src/store/changes/log-epoch.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { checkSchema, migrate } from '../../src/store/migrate/migrate.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { testDatabases } from '../tools/databases.ts'
import { eventFact, uuid, wireEvent } from '../tools/facts.ts'
import { contents, fill, tablesOf } from './rows.ts'

const versions = migrations.map(({ version }) => version)
const NEWEST = Math.max(...versions)

async function views(db: Db): Promise<string[]> {
  const text =
    db.kind === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_master where type = 'view'`
      : sql<{ name: string }>`select table_name as name from information_schema.views where table_schema = current_schema()`
  return (await text.execute(db.read.sql)).rows.map(({ name }) => name)
}

describe.each(testDatabases)('an upgrade on $name', ({ open }) => {
  it.each(versions.filter((version) => version < NEWEST))(
    'from schema version %i loses nothing, and the program works on it',
    async (version) => {
      const { db, close } = await open({ migrated: false })
      onTestFinished(close)
      const older = migrations.filter((migration) => migration.version <= version)
      await migrate(db, older)
      const tables = tablesOf(version)
      expect(tables.length).toBeGreaterThan(15)
      await fill(db, tables)
      const before = await contents(db, tables)
      for (const { name, rows } of tables) expect(before[name], name).toHaveLength(rows)
      expect(await migrate(db)).toEqual(migrations.filter((migration) => migration.version > version).map(({ name }) => name))
      await checkSchema(db)
      expect(await contents(db, tables)).toEqual(before)
      for (const view of await views(db)) await sql`select * from ${sql.table(view)}`.execute(db.read.sql)
      // What a start does, and the first things of its work.
      await checkLogEpoch(db)
      await ensureAccounts(db, ['acme'])
      const delivery = { account: 'acme', deliveryId: 'new', receivedAt: '2026-03-01T00:00:00.000000Z' as never, headers: {}, secret: 1 }
      expect(await new InboxAppender(db).append([{ ...delivery, body: Buffer.from('{}') }])).toEqual([null])
      const known = { ...delivery, account: 'account 1 ü', deliveryId: 'delivery_id 1 ü', body: Buffer.from('again') }
      expect(await new InboxAppender(db).append([known])).toEqual([null])
      await inApplyTransaction(db, silentObserver, 'test', (transaction) =>
        transaction.apply([eventFact('acme', uuid(9, 1), wireEvent(1))]),
      )
      const { first_seq, last_seq } = await db.read.sql.selectFrom('mirror_info').selectAll().executeTakeFirstOrThrow()
      const seqs = await db.read.sql.selectFrom('changes').select('seq').orderBy('seq').execute()
      expect([first_seq, seqs.map(({ seq }) => seq)]).toEqual([1, Array.from({ length: last_seq }, (_, n) => n + 1)])
      expect(last_seq).toBeGreaterThan(3)
      const inbox = await db.read.sql.selectFrom('sync_inbox').select('delivery_id').execute()
      expect(inbox).toHaveLength(4)
    },
  )
})
