import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { type DocumentStorage, StorageUnavailable } from '../../../src/documents/storage/storage.ts'
import { documents } from '../../../src/model/entities/documents.ts'
import { unlistedHosts } from '../../../src/ops/alarms/watch-documents.ts'
import { requestFailed } from '../../../src/store/reads/fetches.ts'
import { unlistedHostText } from '../../../src/upstream/http/elsewhere.ts'
import { testDatabases } from '../../tools/databases.ts'
import { rowsOf } from '../../tools/mirror.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { uuid } from '../../tools/observations.ts'
import { DAY, HOUR, Rig } from '../../tools/poller.ts'

const ACCOUNT = 'default'
const path = (n: number) => `/broker/finalized-documents/${uuid(4, n)}/pdf`

async function folderStorage(): Promise<{ folder: string; storage: FolderStorage }> {
  const folder = newFolder()
  return { folder, storage: new FolderStorage(folder) }
}

describe.each(testDatabases)('documents fetched on $name', (database) => {
  /** A submission with one message, polled until its documents are known. */
  async function scene(paths: readonly string[] = [path(1)]) {
    const rig = await Rig.open(database)
    const { folder, storage } = await folderStorage()
    const id = rig.sandbox.addSubmission(ACCOUNT)
    rig.sandbox.addMessage(ACCOUNT, id, {
      body_text: 'See the files',
      attachments: paths.map((download_path, n) => ({ name: `file ${n}.pdf`, download_path })),
    })
    await rig.track([id])
    rig.startPoller()
    await rig.until('its documents are known', async () => (await rowsOf(rig.db, documents)).length === paths.length)
    const rows = () => rowsOf(rig.db, documents)
    const tried = () => rig.until('each was tried', async () => (await rows()).every((row) => row['tried_at'] !== null))
    const stored = () => rig.until('each is stored', async () => (await rows()).every((row) => row['stored_at'] !== null))
    return { rig, folder, storage, id, rows, tried, stored }
  }

  it('are kept under their hash, with a row that says so, and requested once', async () => {
    const { rig, folder, storage, rows, stored } = await scene([path(1), path(2), path(3)])
    rig.startDocuments(storage)
    await stored()
    for (const row of await rows()) {
      const bytes = await readFile(join(folder, String(row['stored_path'])))
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(row['sha256'])
      expect(bytes.length).toBe(row['stored_bytes'])
      expect(bytes.toString('latin1')).toMatch(/^%PDF-/)
    }
    await rig.pass(30 * DAY)
    expect(rig.asked('document')).toHaveLength(3)
  })

  it.each([
    ['answer that is cut', { kind: 'cut' }, /no answer/],
    ['page of HTML', { kind: 'html' }, /text\/html/],
    ['404', { kind: 'status', status: 404 }, /404/],
    ['410', { kind: 'status', status: 410 }, /410/],
    ['500', { kind: 'status', status: 500 }, /500/],
  ] as const)('trap 54: after an %s it is tried again, nothing of it is kept, and reads continue', async (_, fault, said) => {
    const { rig, storage, rows, tried, stored } = await scene()
    rig.sandbox.faults.add({ ...fault, operation: 'document', count: 1 })
    rig.startDocuments(storage)
    await tried()
    const [row] = await rows()
    if (row?.['stored_at'] === null) {
      expect(row).toMatchObject({ sha256: null, stored_path: null, error: expect.stringMatching(said) as string })
      expect(row).toMatchObject({ error: expect.stringMatching(/; it is fetched again automatically$/) as string })
      expect(await storage.paths()[Symbol.asyncIterator]().next()).toMatchObject({ done: true })
    }
    await rig.pass(HOUR)
    await stored()
    expect(await rows()).toMatchObject([{ error: null }])
  })

  it('trap 54: a document that cannot be retrieved fails after 14 days', async () => {
    const { rig, storage, rows, tried } = await scene()
    rig.sandbox.faults.add({ kind: 'status', status: 502, operation: 'document' })
    rig.startDocuments(storage)
    await tried()
    await rig.until('one failure', async () => (await fetches(rig))[0]?.failures === 1)
    await rig.pass(15 * DAY)
    await rig.until('it has failed', async () => (await fetches(rig))[0]?.due_at === null)
    expect(await rows()).toMatchObject([
      { error: expect.stringContaining('fetching ended after 14 days: ask the service for the document') as string },
    ])
  })

  it('one that is too long waits for a higher limit', async () => {
    const { rig, storage, rows, tried, stored } = await scene()
    const running = rig.startDocuments(storage, { maxBytes: 100 })
    await tried()
    expect(await rows()).toMatchObject([{ error: expect.stringContaining('DOCUMENTS_MAX_BYTES') as string, stored_at: null }])
    expect(await fetches(rig)).toMatchObject([{ due_at: null, refused_over_bytes: 100 }])
    await running.stop()
    rig.startDocuments(storage, { maxBytes: 100_000 })
    await stored()
  })

  it('nothing is fetched beyond the space that all may take', async () => {
    const { rig, storage, rows } = await scene([path(1), path(2), path(3), path(4)])
    rig.startDocuments(storage, { totalBytes: 1 })
    await rig.until('it says so', () => rig.logged('DOCUMENTS_TOTAL_BYTES'))
    expect((await rows()).filter((row) => row['stored_at'] !== null)).toHaveLength(2)
  })

  it('a full disk is said once, counts as no failure, and is tried again', async () => {
    const { rig, storage, rows } = await scene([path(1), path(2)])
    const full: DocumentStorage = new Proxy(storage, {
      get: (target, name) =>
        name === 'keep'
          ? () => Promise.reject(new StorageUnavailable('the disk is full: free space there'))
          : Reflect.get(target, name, target),
    })
    rig.startDocuments(full)
    await rig.until('it says so', () => rig.logged('the disk is full'))
    await rig.until('they are released', async () => (await fetches(rig)).every(({ lease_token }) => lease_token === null))
    expect(rig.lines('the disk is full')).toHaveLength(1)
    expect(await fetches(rig)).toMatchObject([{ failures: 0 }, { failures: 0 }])
    expect((await rows()).map((row) => row['error'])).toEqual([null, null])
  })

  it.each([
    '/oauth/token',
    'oauth/token?x=1',
    '/broker/appetite/markets',
    '/broker//%61ppetite/markets',
    '/Broker/Appetite;v=1',
    '/broker/../oauth/token',
    '/broker/%2e%2e/oauth/token',
    '//evil.example/file.pdf',
    'https://evil.example/file.pdf',
  ])('trap 45: a download_path that is no path of a document is not requested: %s', async (wrong) => {
    const { rig, storage, rows, tried } = await scene([wrong])
    rig.startDocuments(storage)
    await tried()
    expect(await rows()).toMatchObject([{ stored_at: null, error: expect.stringMatching(/^refused a path .*; it is not fetched again/) }])
    expect(rig.asked('document')).toEqual([])
    expect(rig.sandbox.activity.requests.filter(({ url }) => /appetite|evil/i.test(decodeURIComponent(url)))).toEqual([])
  })

  it('a link to a host that is not named is not followed', async () => {
    const { rig, storage, id, rows } = await scene()
    const lane = rig.sandbox.addLane(ACCOUNT, id).rail.submission_market_id
    const offer = {
      presentation_id: 'p1',
      kind: 'quote',
      label: 'Quote',
      document_url: 'https://elsewhere.example/q.pdf',
      filename: 'q.pdf',
    }
    rig.sandbox.patchLane(ACCOUNT, id, lane, { rail: { source_offers: [offer] as never } })
    await rig.pass(HOUR)
    await rig.until('the offer is known', async () => (await rows()).length === 2)
    rig.startDocuments(storage)
    await rig.until('both were tried', async () => (await rows()).every((row) => row['tried_at'] !== null))
    const [refused] = (await rows()).filter((row) => row['origin'] === 'carrier_original')
    expect(refused).toMatchObject({
      error: 'DOCUMENT_HOSTS does not list elsewhere.example; add it to fetch the document',
      stored_at: null,
    })
    const unnamed = (mode: 'fetch' | 'list') => unlistedHosts(rig.db.read, { documents: { mode } })
    expect(await unnamed('fetch')).toMatchObject([
      {
        name: 'document_host_unlisted',
        account: ACCOUNT,
        level: 'on',
        count: 1,
        since: expect.any(String),
        text: expect.stringMatching(/^1 document of account .* cannot be fetched, because DOCUMENT_HOSTS does not list elsewhere\.example/),
      },
    ])
    expect(await unnamed('list')).toEqual([])
    // Once its host is listed, it is due again automatically.
    await rig.db.write('test', (tx) => requestFailed(tx, ACCOUNT, [unlistedHostText('elsewhere.example')]))
    expect(await unnamed('fetch')).toEqual([])
  })
})

function fetches(rig: Rig) {
  return rig.db.read.sql.selectFrom('sync_documents').selectAll().orderBy('document_key').execute()
}
