import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import { FolderStorage } from '../../../../src/documents/storage/folder.ts'
import { runHere } from '../../../app/run.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { byPoll, messageFact, uuid, wireMessage } from '../../../tools/facts.ts'
import { applyAll } from '../../../tools/mirror.ts'
import { AdminRig } from '../rig.ts'

const ID = uuid(9, 1)
const [HELD, MISSING] = [uuid(4, 1), uuid(4, 2)]
const BYTES = '%PDF-1.4 the binder'

describe.each(testDatabases)('documents handed out on $name', (database) => {
  let rig: AdminRig
  let folder: string
  let env: Record<string, string>
  beforeEach(async () => {
    rig = await AdminRig.open(database)
    folder = mkdtempSync(join(tmpdir(), 'handed-out-'))
    env = { ...rig.env, DOCUMENTS_DIR: join(folder, 'kept') }
    rig.config = loadConfig(env)
    const attachments = [HELD, MISSING].map((id) => ({
      name: 'Binder: "final".pdf',
      download_path: `/broker/finalized-documents/${id}/pdf`,
    }))
    await applyAll(rig.db, [messageFact('default', ID, wireMessage(1, { attachments }), byPoll)])
    const body = async function* () {
      yield Buffer.from(BYTES)
    }
    const stored = await new FolderStorage(join(folder, 'kept')).keep(body(), { maxBytes: 100, bytes: null, isPdf: true })
    const about = { account: 'default', submissionId: ID, cause: 'poll', triedAt: '2026-01-05T12:00:00.000000Z' } as const
    await applyAll(rig.db, [
      { kind: 'document', ...about, documentKey: HELD, stored, error: null },
      { kind: 'document', ...about, documentKey: MISSING, stored: null, error: 'the service answered 410' },
    ])
  })
  afterEach(async () => {
    await rig.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('a route streams the file, and who took it is noted', async () => {
    const listed = await rig.ask<{ items: { document_key: string; state: string }[]; next: string | null }>('GET', '/documents?limit=1')
    expect(listed.json.items).toMatchObject([{ document_key: HELD, state: 'stored' }])
    const rest = await rig.ask<typeof listed.json>('GET', `/documents?limit=1&after=${encodeURIComponent(String(listed.json.next))}`)
    expect(rest.json).toMatchObject({ items: [{ document_key: MISSING, state: 'failed' }], next: null })
    const got = await rig.ask('GET', `/documents/${HELD}`)
    expect([got.status, got.text]).toEqual([200, BYTES])
    expect(got.headers.get('content-type')).toBe('application/octet-stream')
    expect(got.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''Binder_%20_final_.pdf")
    expect(await rig.notes()).toMatchObject([{ who: 'alice', action: 'document.get', target: HELD, outcome: 'done' }])
    expect(await rig.ask('GET', `/documents/${MISSING}`)).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining('410') as string },
    })
    expect((await rig.ask('GET', `/documents/${uuid(4, 9)}`)).status).toBe(404)
  })

  it('commands list them and write the file, and note that too', async () => {
    const listed = await runHere(['document', 'list', '--json'], env)
    expect(JSON.parse(listed.out)).toMatchObject([{ document_key: HELD }, { document_key: MISSING }])
    expect((await runHere(['document', 'list'], env)).out).toContain('the service answered 410')
    const out = join(folder, 'binder.pdf')
    expect(await runHere(['document', 'get', HELD, '--out', out], env)).toMatchObject({ code: 0, err: '' })
    expect(readFileSync(out, 'utf8')).toBe(BYTES)
    expect((await runHere(['document', 'get', HELD, '--out', out], env)).err).toContain('exists already')
    expect((await runHere(['document', 'get', HELD], env)).out).toBe(BYTES)
    expect(await runHere(['document', 'get', MISSING], env)).toMatchObject({
      code: 2,
      err: expect.stringContaining('not stored') as string,
    })
    const notes = (await rig.notes()).filter(({ action }) => action === 'document.get')
    expect(notes).toHaveLength(3)
    expect(notes).toMatchObject([{ who: 'command' }, { who: 'command' }, { who: 'command' }])
  })

  it('a purge takes the file along', async () => {
    const storage = new FolderStorage(join(folder, 'kept'))
    expect((await runHere(['purge', ID], env)).code).toBe(0)
    for await (const path of storage.paths()) throw new Error(`${path} is still there`)
    expect((await runHere(['document', 'list', '--json'], env)).out.trim()).toBe('[]')
    expect(await rig.db.read.sql.selectFrom('sync_documents').selectAll().execute()).toEqual([])
  })
})
