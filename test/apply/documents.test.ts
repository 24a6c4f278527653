import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { compareObservations } from '../../src/apply/compare.ts'
import { documents } from '../../src/model/entities/documents.ts'
import type { Json } from '../../src/model/json.ts'
import type { Observation } from '../../src/model/observations.ts'
import { MirrorReader } from '../../src/store/mirror/reader.ts'
import { openAgain, testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'
import {
  byPoll,
  idFact,
  observedEvent,
  observedMessage,
  observedState,
  uuid,
  wireById,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const [ID, OTHER] = [uuid(9, 1), uuid(9, 2)]
const path = (n: number) => `/broker/finalized-documents/${uuid(4, n)}/pdf`
const message = (n: number, attachments: readonly Record<string, Json>[], submission = ID) =>
  observedMessage('acme', submission, wireMessage(n, { attachments: attachments as Json }), byPoll)
const offer = (document_url: string) => ({
  presentation_id: 'p1',
  kind: 'quote',
  label: 'Carrier quote',
  document_url,
  filename: 'quote.pdf',
})
const view = (readNo: number, ...offers: Record<string, Json>[]) =>
  observedState('acme', ID, wireRequirements(ID, [wireLane(1, { source_offers: offers as Json })]), readNo)
const policy = (documents: Json, readNo = 1) =>
  idFact('acme', ID, 'policy', uuid(15, 1), { ...wireById(ID).policy, binder: { documents } }, readNo)

const LATER = '2099-01-01T00:00:00.000000Z'
const derived: Observation = { kind: 'derived', account: 'acme', submissionId: ID, cause: 'reconcile', now: '2026-02-01T00:00:00.000000Z' }

describe.each(testDatabases)('documents on $name', (database) => {
  async function mirror(...observations: Observation[][]) {
    const { db } = await closedAtEnd(database.open())
    for (const each of observations) await applyAll(db, each)
    return db
  }

  it('get no rows, and keep existing ones, while they are off; a run adds them later', async () => {
    const { db, config } = await closedAtEnd(database.open())
    await applyAll(db, [message(1, [{ name: 'a.pdf', download_path: path(1) }])])
    const off = await closedAtEnd(openAgain(config, { listsDocuments: false }))
    await applyAll(off, [message(2, [{ name: 'b.pdf', download_path: path(2) }])])
    await applyAll(off, [derived])
    expect((await rowsOf(db, documents)).map(({ name }) => name)).toEqual(['a.pdf'])
    await applyAll(db, [derived])
    expect((await rowsOf(db, documents)).map(({ name }) => name).sort()).toEqual(['a.pdf', 'b.pdf'])
  })

  it('trap 33, trap 54: any record that names a document adds its row, and makes it due', async () => {
    const named = observedEvent('acme', ID, wireEvent(1, { document_id: uuid(4, 9) }))
    const link = 'https://carrier.example/quotes/1'
    const attachments = [
      { name: 'binder.pdf', download_path: path(1), size_bytes: 12, content_type: 'application/pdf', created_at: '2026-01-02T03:04:05Z' },
      { name: 'odd.pdf', download_path: '/elsewhere/1' },
      { name: 'not yet.pdf', download_path: null },
    ]
    const db = await mirror([
      message(1, attachments),
      view(1, offer(link)),
      policy([{ name: 'Policy.pdf', download_path: path(2) }]),
      named,
    ])
    const rows = await rowsOf(db, documents)
    const shown = rows.map(({ document_id, origin, name, size_bytes, submission_id }) => [
      document_id,
      origin,
      name,
      size_bytes,
      submission_id,
    ])
    expect(shown.sort()).toEqual(
      [
        [uuid(4, 1), 'attachment', 'binder.pdf', 12, ID],
        [null, 'attachment', 'odd.pdf', null, ID],
        [null, 'carrier_original', 'quote.pdf', null, ID],
        [uuid(4, 2), 'policy', 'Policy.pdf', null, ID],
        [uuid(4, 9), 'finalized', null, null, ID],
      ].sort(),
    )
    const due = await db.read.sql.selectFrom('sync_documents').select('document_key').where('due_at', 'is not', null).execute()
    expect(due.map(({ document_key }) => document_key).sort()).toEqual(rows.map((row) => row['document_key']).sort())
    const overview = await db.read.all(sql`select * from submission_overview where submission_id = ${ID}`)
    expect(overview).toMatchObject([{ documents_held: 0, documents_missing: 5 }])
  })

  it('what names a document again changes nothing; a link that comes later is filled in', async () => {
    const db = await mirror([message(1, [{ name: 'a.pdf', download_path: path(1) }])])
    const before = await changesOf(db)
    await applyAll(db, [message(1, [{ name: 'a.pdf', download_path: path(1) }])])
    expect(await changesOf(db)).toEqual(before)
    await applyAll(db, [view(1, offer('https://carrier.example/q')), policy([{ display_name: 'Better name.pdf', download_path: path(1) }])])
    expect(await rowsOf(db, documents)).toContainEqual(
      expect.objectContaining({ document_id: uuid(4, 1), origin: 'policy', name: 'Better name.pdf' }),
    )
  })

  const signed: readonly [string, (readNo: number) => Observation, number, string | null][] = [
    ['an original', (n) => view(n, offer(`https://carrier.example/q?signature=${n}`)), 1, 'https://carrier.example/q?signature=2'],
    ['an original whose path is relative', (n) => view(n, offer(`/documents/q#${n}`)), 1, '/documents/q#2'],
    [
      'documents of a policy, of which the query and the name tell one from another',
      (n) =>
        policy(
          ['Binder', 'Policy'].map((name) => ({ name, download_path: `/download?document=${name}&signature=${n}` })),
          n,
        ),
      2,
      '/download?document=Binder&signature=2',
    ],
    ['an attachment', (n) => message(1, [{ name: 'a.pdf', download_path: `/files/1?signature=${n}` }]), 1, '/files/1?signature=2'],
  ]
  it.each(signed)('%s, whose link is signed for each answer, stays one document', async (_, observation, count, newest) => {
    const db = await mirror([observation(1)])
    const before = await changesOf(db)
    const due = () => db.read.sql.selectFrom('sync_documents').select('due_at').execute()
    await db.write('test-failed', (tx) => tx.sql.updateTable('sync_documents').set({ due_at: LATER, failures: 3 }).execute())
    expect(await compareObservations(new MirrorReader(db.read, 'acme'), [observation(2)], LATER)).toEqual({ changed: [], rawOnly: [] })
    await applyAll(db, [observation(2)])
    expect(await changesOf(db)).toEqual(before)
    const rows = await rowsOf(db, documents)
    expect(rows).toHaveLength(count)
    expect(rows.map(({ download_path, document_url }) => download_path ?? document_url)).toContain(newest)
    // A delayed attempt uses the new link.
    expect(await due()).not.toContainEqual({ due_at: LATER })
    await db.write('test-stored', (tx) => tx.sql.updateTable('sync_documents').set({ due_at: null }).execute())
    await applyAll(db, [observation(3)])
    expect(await due()).toEqual(Array.from({ length: count }, () => ({ due_at: null })))
  })

  it('invariant 7: an original that the rail no longer shows is gone, and can come back', async () => {
    const db = await mirror([view(1, offer('https://carrier.example/q'))])
    await applyAll(db, [view(2)])
    expect(await rowsOf(db, documents)).toMatchObject([{ gone_at: expect.any(String) as string }])
    await applyAll(db, [view(3, offer('https://carrier.example/q'))])
    expect(await rowsOf(db, documents)).toMatchObject([{ gone_at: null }])
  })

  it('invariant 2: of two submissions that name a document it is the one with the lower id, in any order', async () => {
    const both = [message(1, [{ name: 'a.pdf', download_path: path(1) }]), message(2, [{ name: 'b.pdf', download_path: path(1) }], OTHER)]
    for (const order of [both, both.toReversed()]) {
      const db = await mirror(...order.map((observation) => [observation]))
      expect(await rowsOf(db, documents)).toMatchObject([{ submission_id: ID, name: 'a.pdf' }])
    }
  })

  it('the result of an attempt is recorded; a lost file is fetched again', async () => {
    const db = await mirror([message(1, [{ name: 'a.pdf', download_path: path(1) }])])
    const triedAt = '2026-01-05T12:00:00.000000Z'
    const observation = { kind: 'document', account: 'acme', submissionId: ID, cause: 'poll', documentKey: uuid(4, 1), triedAt } as const
    await applyAll(db, [{ ...observation, stored: null, error: 'it cannot be retrieved' }])
    expect(await rowsOf(db, documents)).toMatchObject([{ error: 'it cannot be retrieved', tried_at: triedAt, stored_at: null }])
    const sha256 = 'ab'.repeat(32)
    await applyAll(db, [{ ...observation, stored: { sha256, bytes: 7, path: `ab/${sha256}` }, error: null }])
    expect(await rowsOf(db, documents)).toMatchObject([
      { error: null, sha256, stored_bytes: 7, stored_path: `ab/${sha256}`, stored_at: triedAt },
    ])
    await db.write('test-settled', (tx) => tx.sql.updateTable('sync_documents').set({ due_at: null }).execute())
    await applyAll(db, [{ ...observation, stored: null, error: 'the file is missing', isLost: true }])
    expect(await rowsOf(db, documents)).toMatchObject([{ sha256: null, stored_path: null, error: 'the file is missing' }])
    expect(await db.read.sql.selectFrom('sync_documents').select('due_at').execute()).not.toEqual([{ due_at: null }])
  })
})
