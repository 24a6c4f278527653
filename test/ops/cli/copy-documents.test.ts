import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { checkLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import { json, runHere } from '../../app/run.ts'
import { anything, body } from '../../documents/storage/suite.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import { postgresDatabase, runSql, sqliteDatabase } from '../../tools/databases.ts'

async function scene() {
  const [source, target] = [await sqliteDatabase.open(), await postgresDatabase.open()]
  const folder = await mkdtemp(join(tmpdir(), 'submission-mirror-copied-'))
  onTestFinished(async () => void (await Promise.all([source.close(), target.close(), rm(folder, { recursive: true })])))
  await checkLogEpoch(source.db)
  const storage = new FolderStorage(join(folder, 'from'))
  const [here, lost] = [await storage.keep(body('kept'), anything), await storage.keep(body('lost'), anything)]
  for (const [n, { path, sha256, bytes }] of [here, here, here, lost].entries())
    await runSql(
      source.db,
      sql`insert into documents (account, document_key, submission_id, origin, sha256, stored_bytes, stored_path)
        values (${'acme'}, ${`k${n}`}, ${''}, ${'finalized'}, ${sha256}, ${bytes}, ${path})`,
    )
  if (target.config.kind !== 'postgres') throw new Error('to Postgres')
  const args = ['copy', '--to', target.config.url.reveal(), '--schema', target.config.schema]
  return { args, env: { ...databaseEnv(source.config), DOCUMENTS_DIR: join(folder, 'from') }, to: join(folder, 'to'), storage, here, lost }
}

it('copies the documents into another folder, and says where they are now', async () => {
  const { args, env, to, here } = await scene()
  const { code, out } = await runHere([...args, '--documents-to', to], env)
  expect(out).toMatch(`; 2 documents are in the folder ${to} (2 copied now); set DOCUMENTS_DIR to it; set DATABASE_URL to`)
  expect(code).toBe(0)
  expect(await new FolderStorage(to).size(here.path)).toBe(here.bytes)
})

it('looks for documents that stay where they are, and ends with 1 when one is missing', async () => {
  const { args, env, storage, lost } = await scene()
  await storage.remove(lost.path)
  const ended = await runHere([...args, '--json'], env)
  expect(ended.code).toBe(1)
  expect(json(ended)).toMatchObject({ complete: true, documents: { files: 2, bytes: 8, copied: 0, faulty: [lost.path] } })
})
