import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { documents } from '../../../src/model/entities/documents.ts'
import type { Columns } from '../../../src/store/schema/tables.ts'
import { json, runHere } from '../../app/run.ts'
import { anything, body } from '../../documents/storage/suite.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../../tools/mirror.ts'
import { byPoll, observedMessage, uuid, wireMessage } from '../../tools/observations.ts'

const KEYS = ['a', 'b', 'c']

describe.each(testDatabases)('document check on $name', ({ open }) => {
  async function scene() {
    const { db, config, close } = await open()
    const folder = await mkdtemp(join(tmpdir(), 'submission-mirror-check-'))
    onTestFinished(async () => void (await Promise.all([close(), rm(folder, { recursive: true })])))
    const attachments = KEYS.map((key) => ({ name: `${key}.pdf`, download_path: `/files/${key}` }))
    await applyAll(db, [observedMessage('acme', uuid(9, 1), wireMessage(1, { attachments }), byPoll)])
    const storage = new FolderStorage(folder)
    for (const key of KEYS) {
      const kept = await storage.keep(body(`bytes of ${key}`), anything)
      await runSql(
        db,
        sql`update documents set sha256 = ${kept.sha256}, stored_bytes = ${kept.bytes}, stored_path = ${kept.path},
          stored_at = '2026-01-02T03:04:05.000000Z' where name = ${`${key}.pdf`}`,
      )
      await runSql(db, sql`update sync_documents set due_at = null`)
      if (key === 'b') await storage.remove(kept.path)
      if (key === 'c') await writeFile(join(folder, kept.path), 'cut')
    }
    return { db, env: { ...databaseEnv(config), DOCUMENTS_DIR: folder } }
  }

  it('lists lost and cut files, changes nothing, and exits with 1', async () => {
    const { db, env } = await scene()
    const before = await changesOf(db)
    const checked = await runHere(['document', 'check', '--json'], env)
    expect(checked.code).toBe(1)
    const found = json(checked) as { looked: number; lost: { name: string; stored_bytes: number; found_bytes: number | null }[] }
    expect(found.looked).toBe(3)
    expect(found.lost.map(({ name, stored_bytes, found_bytes }) => [name, stored_bytes, found_bytes]).sort()).toEqual([
      ['b.pdf', 10, null],
      ['c.pdf', 10, 3],
    ])
    expect((await runHere(['document', 'check'], env)).out).toContain(
      '2 of 3 files are missing or have the wrong length. Check that DOCUMENTS_DIR',
    )
    expect(await changesOf(db)).toEqual(before)
  })

  it('has them fetched again with an option, and records who did', async () => {
    const { db, env } = await scene()
    const checked = await runHere(['document', 'check', '--repair'], env)
    expect([checked.code, checked.out]).toEqual([1, expect.stringContaining('A running `serve` fetches them again.')])
    const rows = await rowsOf(db, documents)
    expect(
      rows
        .filter(({ stored_path }) => stored_path === null)
        .map(({ name, error }) => [name, error])
        .sort(),
    ).toEqual([
      ['b.pdf', 'its file was lost'],
      ['c.pdf', 'its file was lost'],
    ])
    const due = await db.read.sql.selectFrom('sync_documents').select('document_key').where('due_at', 'is not', null).execute()
    expect(due).toHaveLength(2)
    const notes = await db.read.all(sql<Columns<'operator_actions', 'action' | 'who'>>`
      select action, who from operator_actions where action = 'document.check'`)
    expect(notes).toEqual([{ action: 'document.check', who: 'command' }])
    const again = await runHere(['document', 'check'], env)
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('1 file checked, none lost.')])
  })
})
