import Database from 'better-sqlite3'
import { expect, it } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import { sqliteError } from '../../../src/store/sqlite/errors.ts'

const translated = (code: string, message: string) => sqliteError(new Database.SqliteError(message, code), 'mirror.db')

it('reports a full disk when a database cannot be opened without space, and a failing one otherwise', () => {
  expect(translated('SQLITE_IOERR_SHMSIZE', 'disk I/O error')).toBeInstanceOf(TransientError)
  expect(translated('SQLITE_IOERR_SHMSIZE', 'disk I/O error')).toMatchObject({
    message: 'mirror.db cannot be opened: the disk is full, without space for the -shm file (disk I/O error)',
  })
  expect(translated('SQLITE_IOERR_READ', 'disk I/O error')).toMatchObject({
    message: 'mirror.db cannot be read or written: the disk answers with an error (disk I/O error)',
  })
})
