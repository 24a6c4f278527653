import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { DocumentSweeper } from '../../../src/documents/fetch/sweeper.ts'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { checkLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { onSqlite } from '../../tools/databases.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { anything, body, collected } from '../storage/suite.ts'

it.each(onSqlite)('documents of another mirror are no leftovers: a mistake in DATABASE_URL removes none, on $name', async ({ open }) => {
  const folder = newFolder()
  const storage = new FolderStorage(folder)
  const database = async () => {
    const { db } = await closedAtEnd(open())
    await checkLogEpoch(db)
    return db
  }
  const [own, mistaken] = [await database(), await database()]
  const lines: string[] = []
  const log = createLog({ level: 'info', pretty: false, secrets: [], destination: { write: (line) => lines.push(line) } })
  const sweep = async (db: Db) => {
    const done = new AbortController()
    const clock: Clock = { ...systemClock, sleep: async () => done.abort() }
    await new DocumentSweeper({ db, storage, clock, log }).run(done.signal)
  }
  await sweep(own)
  const { path } = await storage.keep(body('a binder'), anything)
  utimesSync(join(folder, path), new Date(0), new Date(0))
  await sweep(mistaken)
  expect(await collected(storage)).toEqual([path])
  expect(lines.join('\n')).toContain('files without a document are kept: the folder')
  await sweep(own)
  expect(await collected(storage)).toEqual([])
})
