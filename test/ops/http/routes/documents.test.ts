import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import { FolderStorage } from '../../../../src/documents/storage/folder.ts'
import { unlistedHostText } from '../../../../src/upstream/http/elsewhere.ts'
import { runHere } from '../../../app/run.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { applyAll } from '../../../tools/mirror.ts'
import { byPoll, observedMessage, observedState, uuid, wireMessage, wireRequirements } from '../../../tools/observations.ts'
import { AdminRig, refusal } from '../rig.ts'

const ID = uuid(9, 1)
const [HELD, MISSING] = [uuid(4, 1), uuid(4, 2)]
const BYTES = '%PDF-1.4 the binder'

describe.each(testDatabases)('documents by the admin routes, on $name', (database) => {
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
    await applyAll(rig.db, [observedMessage('default', ID, wireMessage(1, { attachments }), byPoll)])
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

  it('a route streams the file, and records it', async () => {
    const listed = await rig.ask<{ items: unknown[]; next_cursor: string | null }>('GET', '/documents?limit=1')
    expect(listed.json.items).toMatchObject([{ document_key: HELD, state: 'stored' }])
    const failed = { document_key: MISSING, state: 'failed', error: 'the service answered 410' }
    for (const query of [`limit=1&cursor=${listed.json.next_cursor}`, 'state=failed'])
      expect((await rig.ask('GET', `/documents?${query}`)).json).toMatchObject({ items: [failed], next_cursor: null })
    const got = await rig.ask('GET', `/documents/${HELD}`)
    expect([got.status, got.text]).toEqual([200, BYTES])
    expect(got.headers.get('content-type')).toBe('application/octet-stream')
    expect(got.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''Binder_%20_final_.pdf")
    expect(await rig.notes()).toMatchObject([{ who: 'alice', action: 'document.get', target: HELD, outcome: 'done' }])
    expect(await rig.ask('GET', `/documents/${MISSING}`)).toMatchObject(refusal(409, expect.stringContaining('410') as string))
    expect((await rig.ask('GET', `/documents/${uuid(4, 9)}`)).status).toBe(404)
  })

  it.each([
    ['BINDER', 2],
    ['"final"', 2],
    ['bluebird din', 2],
    [ID.slice(0, 8), 2],
    ['100%_', 0],
    ['other', 0],
  ])('are found by %s: by file name, insured or submission', async (search, found) => {
    const named = wireRequirements(ID, [], { insured_name: 'Bluebird Diner' })
    await applyAll(rig.db, [observedState('default', ID, named, 1)])
    for (const account of ['', '&account=default']) {
      const { json } = await rig.ask<{ items: unknown[] }>('GET', `/documents?search=${encodeURIComponent(search)}${account}`)
      expect(json.items).toHaveLength(found)
    }
  })

  it('commands list them and write the file, and record it', async () => {
    expect((await runHere(['document', 'list', '--state', 'failed'], env)).out).toContain('the service answered 410')
    const out = join(folder, 'binder.pdf')
    expect(await runHere(['document', 'get', HELD, '--out', out], env)).toMatchObject({ code: 0, err: '' })
    expect(readFileSync(out, 'utf8')).toBe(BYTES)
    for (const options of [{}, { signal: AbortSignal.abort() }])
      expect((await runHere(['document', 'get', HELD, '--out', out], env, options)).err).toContain('already exists')
    expect(readFileSync(out, 'utf8')).toBe(BYTES)
    const nowhere = join(out, 'there', 'x.pdf')
    const unwritable = await runHere(['document', 'get', HELD, '--out', nowhere], env)
    expect(unwritable).toMatchObject({ code: 2, err: expect.stringContaining('cannot be written') })
    const stopped = `${out}.stopped`
    await runHere(['document', 'get', HELD, '--out', stopped], env, { signal: AbortSignal.abort() })
    expect(existsSync(stopped)).toBe(false)
    expect((await runHere(['document', 'get', HELD], env)).out).toBe(BYTES)
    expect(await runHere(['document', 'get', MISSING], env)).toMatchObject({ code: 2, err: expect.stringContaining('not stored') })
    const notes = (await rig.notes()).filter(({ action }) => action === 'document.get')
    expect(notes).toHaveLength(3)
    expect(notes).toMatchObject([{ who: 'command' }, { who: 'command' }, { who: 'command' }])
  })

  it('a route checks the files, and fetches lost ones again', async () => {
    expect((await rig.ask('POST', '/documents/check')).json).toEqual({ looked: 1, lost: [], repaired: false })
    rmSync(join(folder, 'kept'), { recursive: true })
    const lost = [{ document_key: HELD, stored_bytes: BYTES.length, found_bytes: null }]
    const taken = await rig.ask('GET', `/documents/${HELD}`)
    expect(taken).toMatchObject(refusal(409, expect.stringContaining('`document check --repair`') as string))
    expect((await rig.ask('POST', '/documents/check', { body: { repair: true } })).json).toMatchObject({ looked: 1, lost, repaired: true })
    expect((await rig.notes()).map(({ action, outcome }) => [action, outcome])).toEqual([
      ['document.get', 'failed'],
      ['document.check', 'done'],
    ])
  })

  it('a route shows why documents failed, since when and what to do, and fetches them again', async () => {
    const about = { account: 'default', submissionId: ID, cause: 'poll', triedAt: '2026-01-05T12:00:00.000000Z' } as const
    await applyAll(rig.db, [
      { kind: 'document', ...about, documentKey: HELD, stored: null, error: unlistedHostText('files.example'), isLost: true },
    ])
    await rig.db.write('test', (tx) =>
      tx.sql.updateTable('sync_documents').set({ due_at: null, failures: 1, failing_since: about.triedAt }).execute(),
    )
    const failed = async () => (await rig.ask<{ items: Record<string, unknown>[] }>('GET', '/documents?state=failed')).json.items
    expect(await failed()).toMatchObject([
      {
        document_key: HELD,
        host: null,
        failing_since: about.triedAt,
        is_refused: true,
        fix:
          'If you trust files.example, add it to DOCUMENT_HOSTS, then reload (settings file) or restart (environment). ' +
          'Otherwise download the file from the service.',
      },
      { document_key: MISSING, retry_at: null, is_refused: false, fix: 'Ask the service for the document, then fetch it again.' },
    ])
    rig.config = { ...rig.config, documents: { ...rig.config.documents, hosts: ['files.example'] } }
    expect((await failed())[0]).toMatchObject({ document_key: HELD, is_refused: false })
    expect((await rig.ask('POST', '/documents/retry', { body: { keys: [MISSING] } })).json).toEqual({ changed: 1 })
    const waiting = { fix: 'No action required. It is fetched again automatically.', retry_at: expect.any(String) }
    expect((await failed())[1]).toMatchObject(waiting)
    expect((await rig.ask('POST', '/documents/retry', { body: {} })).json).toEqual({ changed: 2 })
    expect((await rig.notes()).map(({ action, detail }) => [action, detail])).toEqual([
      ['document.retry', { ids: [MISSING], count: 1, changed: 1 }],
      ['document.retry', { changed: 2 }],
    ])
  })

  it('a route reports an unavailable storage', async () => {
    rmSync(join(folder, 'kept'), { recursive: true })
    symlinkSync('kept', join(folder, 'kept'))
    for (const [method, path] of [
      ['GET', `/documents/${HELD}`],
      ['POST', '/documents/check'],
    ] as const) {
      expect(await rig.ask(method, path)).toMatchObject(refusal(503, expect.stringContaining(join(folder, 'kept'))))
    }
  })

  it('a purge deletes the file', async () => {
    const storage = new FolderStorage(join(folder, 'kept'))
    expect((await runHere(['purge', ID], env)).code).toBe(0)
    for await (const path of storage.paths()) throw new Error(`${path} is still there`)
    expect((await runHere(['document', 'list'], env)).out).toBe('No documents.\n')
    expect(await rig.db.read.sql.selectFrom('sync_documents').selectAll().execute()).toEqual([])
  })
})
