import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { newSqlite, openAgain } from '../../tools/databases.ts'
import { copyMigrated } from '../../tools/migrated.ts'

/** A number in the log's header that grows with each restart of the log. */
const SEQUENCE_AT = 12

async function opened(): Promise<{ db: Db; path: string; failSync: () => void }> {
  const place = newSqlite()
  let isFailing = false
  await copyMigrated(place.config.path)
  const db = await openAgain(place.config, {
    failPoint(point) {
      if (!isFailing || point !== 'count:before-commit') return
      isFailing = false
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC')
    },
  })
  onTestFinished(async () => {
    await db.close()
    await place.remove()
  })
  return {
    db,
    path: place.config.path,
    failSync: () => {
      isFailing = true
    },
  }
}

function count(db: Db, account: string, options = {}): Promise<unknown> {
  const row = { account, name: 'n', label: '', value: 1 }
  return db.write('count', (tx) => tx.sql.insertInto('sync_counters').values(row).execute(), options)
}

const sequenceOf = (path: string) => readFileSync(`${path}-wal`).readUInt32BE(SEQUENCE_AT)

// After a failed sync, the system treats unwritten data as written. Earlier data in the log may never reach the disk.
it('after a failed sync, no commit follows data that the disk may have lost', async () => {
  const { db, path, failSync } = await opened()
  await count(db, 'relaxed', { relaxedDurability: true })
  const before = sequenceOf(path)
  failSync()
  await expect(count(db, 'failed')).rejects.toThrow(TransientError)
  const reader = new Database(path, { readonly: true })
  reader.exec('begin; select * from sync_counters')
  await expect(count(db, 'doubtful')).rejects.toThrow(/could not be synced.*another process is reading/)
  reader.close()
  await count(db, 'kept')
  expect(sequenceOf(path)).toBe(before + 1)
  const rows = await db.read.sql.selectFrom('sync_counters').select('account').orderBy('account').execute()
  expect(rows).toEqual([{ account: 'kept' }, { account: 'relaxed' }])
  await count(db, 'after')
  expect(sequenceOf(path)).toBe(before + 1)
})
