import { describe, expect, it } from 'vitest'
import { inApplyTransaction } from '../../src/apply/apply.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { threadAttachments } from '../../src/model/entities/thread-attachments.ts'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import type { Observation } from '../../src/model/observations.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { Counts } from '../tools/counts.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'
import { byFullRead, byPoll, byWebhook, observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)

function message(n: number, over = {}, origin = byWebhook) {
  return observedMessage(ACCOUNT, ID, wireMessage(n, over), origin)
}

describe.each(testDatabases)('thread messages on $name', ({ open }) => {
  async function database(): Promise<Db> {
    const { db } = await closedAtEnd(open())
    return db
  }

  it('trap 32: a message with another body keeps the first, the second is a conflict, and it is counted', async () => {
    const db = await database()
    const counts = new Counts()
    const apply = (facts: readonly Observation[]) => inApplyTransaction(db, counts, 'test-apply', (transaction) => transaction.apply(facts))
    await apply([message(1), observedEvent(ACCOUNT, ID, wireEvent(1))])
    const before = await changesOf(db)
    const changed = [message(1, { body_text: 'Another text' }, byPoll), observedEvent(ACCOUNT, ID, wireEvent(1, { type: 'declined' }))]
    await apply(changed)
    await apply(changed)
    expect(await rowsOf(db, threadMessages)).toMatchObject([{ body_text: 'Text of message 1', first_seen_via: 'webhook' }])
    const evidence = await db.read.sql.selectFrom('sync_conflicts').selectAll().orderBy('entity', 'desc').execute()
    expect(evidence).toMatchObject([
      { entity: 'thread_messages', record_id: uuid(2, 1), fields: 'body_text', via: 'poll' },
      { entity: 'market_events', record_id: uuid(1, 1), fields: 'type', via: 'webhook' },
    ])
    expect(JSON.parse(String(evidence[0]?.refused))).toMatchObject({ body_text: 'Another text' })
    expect(JSON.parse(String(evidence[0]?.kept))).toMatchObject({ body_text: 'Text of message 1' })
    expect(counts.counted.filter((line) => line.startsWith('conflicts_total')).sort()).toEqual([
      'conflicts_total acme market_events',
      'conflicts_total acme thread_messages',
    ])
    expect(await changesOf(db)).toEqual(before)
  })

  it('trap 58: a message that a delivery gave fewer digits of its time is dated by the feed, and so is its submission', async () => {
    const db = await database()
    await applyAll(db, [message(1, { occurred_at: '2026-01-05T12:00:00.123Z' })])
    await applyAll(db, [message(1, { occurred_at: '2026-01-05T12:00:00.123456Z' }, byPoll)])
    const at = '2026-01-05T12:00:00.123456Z'
    expect(await rowsOf(db, threadMessages)).toMatchObject([{ occurred_at: at }])
    expect(await rowsOf(db, submissions)).toMatchObject([{ last_message_at: at, last_activity_at: at }])
  })

  it('trap 32: a conflict changes nothing, and fills nothing', async () => {
    const db = await database()
    await applyAll(db, [message(1, { subject: null, attachments: [{ name: 'a.pdf', download_path: null }] })])
    const path = '/broker/finalized-documents/x/pdf'
    await applyAll(db, [
      message(1, { subject: 'New', body_text: 'Another', attachments: [{ name: 'a.pdf', download_path: path }] }, byPoll),
    ])
    expect(await rowsOf(db, threadMessages)).toMatchObject([{ subject: null }])
    expect(await rowsOf(db, threadAttachments)).toMatchObject([{ download_path: null }])
    await applyAll(db, [message(1, { subject: null, attachments: [{ name: 'b.pdf', download_path: path }] }, byPoll)])
    expect(await rowsOf(db, threadAttachments)).toMatchObject([{ name: 'a.pdf', download_path: null }])
    const fields = await db.read.sql.selectFrom('sync_conflicts').select('fields').orderBy('fields').execute()
    expect(fields.map((row) => row.fields)).toEqual(['attachments', 'body_text'])
  })

  it('trap 32: only null or absent values are filled: an empty list of recipients or attachments is a value', async () => {
    const db = await database()
    const conflicts = async () =>
      (await db.read.sql.selectFrom('sync_conflicts').select('fields').orderBy('fields').execute()).map((row) => row.fields)
    const [a, b] = [
      { name: 'a.pdf', download_path: null },
      { name: 'b.pdf', download_path: null },
    ]
    await applyAll(db, [
      message(1, { to: [], attachments: [] }),
      message(2, { to: null, attachments: [a, b] }),
      message(3, { attachments: null }),
    ])
    const before = await changesOf(db)
    // A missing list is no conflict.
    await applyAll(db, [message(1, { to: null, attachments: null }), message(2, { to: null, attachments: null }, byPoll)])
    expect([await changesOf(db), await conflicts()]).toEqual([before, []])
    for (const contradiction of [
      message(1, { to: [], attachments: [a] }, byPoll),
      message(2, { to: null, attachments: [] }, byPoll),
      message(2, { to: null, attachments: [a] }),
      message(2, { to: null, attachments: [a, b, a] }, byFullRead),
      message(1, { to: ['a@b.example'], attachments: [] }, byPoll),
    ])
      await applyAll(db, [contradiction])
    const contradicted = [...Array(4).fill('attachments'), 'to_addresses']
    expect([await changesOf(db), await conflicts()]).toEqual([before, contradicted])
    // Missing lists are filled, then kept, also in the same transaction.
    await applyAll(db, [
      message(2, { to: [], attachments: [a, b] }),
      message(3, { attachments: [a] }),
      message(3, { attachments: [a, b] }),
      message(3, { attachments: [] }, byPoll),
    ])
    expect(await conflicts()).toEqual(['attachments', 'attachments', ...contradicted])
    expect((await rowsOf(db, threadMessages)).map((row) => row['to_addresses'])).toEqual([[], [], ['producer@brokerage.example']])
    expect((await rowsOf(db, threadAttachments)).map((row) => [row['message_id'], row['name']])).toEqual([
      [uuid(2, 2), 'a.pdf'],
      [uuid(2, 2), 'b.pdf'],
      [uuid(2, 3), 'a.pdf'],
    ])
  })

  it('an attachment that the stored object names and the table has lost is restored, without a conflict', async () => {
    const db = await database()
    const attachments = ['a.pdf', 'b.pdf'].map((name) => ({ name, download_path: null }))
    await applyAll(db, [message(1, { attachments })])
    const before = await rowsOf(db, threadAttachments)
    await db.write('test', (tx) => tx.sql.deleteFrom('thread_attachments').where('position', '=', 1).execute())
    await applyAll(db, [message(1, { attachments }, byPoll)])
    expect(await rowsOf(db, threadAttachments)).toEqual(before)
    expect(await db.read.sql.selectFrom('sync_conflicts').selectAll().execute()).toEqual([])
  })

  it('trap 33: a link that was missing is filled in without an alarm, and never emptied again', async () => {
    const db = await database()
    const [bare, linked] = [
      { name: 'quote.pdf', download_path: null },
      { name: 'quote.pdf', download_path: `/broker/finalized-documents/${uuid(4, 1)}/pdf` },
    ]
    await applyAll(db, [message(1, { attachments: [bare] })])
    const before = await changesOf(db)
    await applyAll(db, [message(1, { attachments: [linked] }, byPoll)])
    const filled = { download_path: linked?.download_path, document_key: uuid(4, 1) }
    expect(await rowsOf(db, threadAttachments)).toMatchObject([filled])
    expect((await changesOf(db)).slice(before.length)).toMatchObject([
      {
        entity: 'thread_attachments',
        operation: 'update',
        before: { download_path: null, document_key: null },
        after: filled,
        cause: 'poll',
      },
      { entity: 'documents', operation: 'insert', entity_id: JSON.stringify([uuid(4, 1)]), cause: 'poll' },
    ])
    await applyAll(db, [message(1, { attachments: [bare] }, byFullRead)])
    expect(await rowsOf(db, threadAttachments)).toMatchObject([filled])
    expect(await db.read.sql.selectFrom('sync_conflicts').selectAll().execute()).toEqual([])
  })

  it('trap 57: a value of another type is null in its column, and unchanged in raw', async () => {
    const db = await database()
    await applyAll(db, [
      message(1, { subject: 12, from: { name: 'A' }, to: 'nobody', in_reply_to: false, attachments: 'none', sentiment: [1, { a: null }] }),
    ])
    const [row] = await rowsOf(db, threadMessages)
    expect(row).toMatchObject({ subject: null, from_address: null, to_addresses: null, in_reply_to: null })
    expect(JSON.parse(String(row?.['raw']))).toMatchObject({ subject: 12, from: { name: 'A' }, to: 'nobody', sentiment: [1, { a: null }] })
    expect(await rowsOf(db, threadAttachments)).toEqual([])
  })

  it('trap 71: a chat row has no sender, no subject, and no recipients', async () => {
    const db = await database()
    const chat = { channel: 'chat', kind: 'chat', subject: null, from: null, to: [], in_reply_to: null, attachments: [] }
    expect(await applyAll(db, [message(1, chat)])).toMatchObject({ inserted: 1 })
    expect(await rowsOf(db, threadMessages)).toMatchObject([
      { channel: 'chat', subject: null, from_address: null, to_addresses: [], in_reply_to: null, body_text: 'Text of message 1' },
    ])
    const before = await changesOf(db)
    expect(await applyAll(db, [message(1, chat, byPoll)])).toMatchObject({ inserted: 0 })
    expect(await changesOf(db)).toEqual(before)
  })

  it('repetitions of the same conflict are recorded once, even if links or other ignored fields change', async () => {
    const db = await database()
    const renamed = (signature: string) =>
      message(1, { attachments: [{ name: 'other.pdf', download_path: `/d?s=${signature}` }], read_at: signature }, byPoll)
    await applyAll(db, [message(1, { attachments: [{ name: 'loss-runs.pdf', download_path: '/d?s=0' }] })])
    for (const signature of ['1', '2', '3']) await applyAll(db, [renamed(signature)])
    await applyAll(db, [message(1, { attachments: [{ name: 'another.pdf', download_path: '/d?s=1' }] }, byPoll)])
    const evidence = await db.read.sql.selectFrom('sync_conflicts').select('refused').orderBy('seen_at').execute()
    expect(evidence.map(({ refused }) => /other|another/.exec(refused)?.[0]).sort()).toEqual(['another', 'other'])
  })

  it('trap 72: NUL and lone surrogates break nothing: U+FFFD in columns, in the log and in raw', async () => {
    const db = await database()
    const strange = 'a\u0000b\ud800c\udfffd😀'
    const over = { subject: strange, body_text: strange, to: [strange], attachments: [{ name: strange, download_path: null }] }
    const extra = { [strange]: strange }
    await applyAll(db, [
      message(1, { ...over, ...extra }),
      observedEvent(ACCOUNT, ID, wireEvent(1, { detail: strange, ...extra }, { name: strange })),
    ])
    const safe = 'a\ufffdb\ufffdc\ufffdd😀'
    const [row] = await rowsOf(db, threadMessages)
    expect(row).toMatchObject({ subject: safe, body_text: safe, to_addresses: [safe] })
    expect(JSON.parse(String(row?.['raw']))).toMatchObject({ body_text: safe, [safe]: safe })
    expect(await rowsOf(db, threadAttachments)).toMatchObject([{ name: safe }])
    const changes = await changesOf(db)
    expect(changes.find((change) => change.entity === 'thread_messages')?.after).toMatchObject({ body_text: safe })
    // The same value by another way is no conflict.
    await applyAll(db, [message(1, { ...over, ...extra }, byPoll)])
    expect(await changesOf(db)).toEqual(changes)
    // As a conflict it breaks nothing either.
    await applyAll(db, [message(1, { ...over, body_text: `${strange}!` }, byPoll)])
    expect(await db.read.sql.selectFrom('sync_conflicts').selectAll().execute()).toHaveLength(1)
  })
})
