import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { entities } from '../../../src/model/entities.ts'
import { columnsWhere, isInChangeLog, type Row } from '../../../src/model/entity.ts'
import type { Observation } from '../../../src/model/observations.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import type { OutboxRow } from '../../../src/store/outbox/rows.ts'
import { testDatabases } from '../../tools/databases.ts'
import { putOutbox } from '../../tools/destinations.ts'
import { applyAll, changesOf, rowsOf } from '../../tools/mirror.ts'
import {
  byPoll,
  observedEvent,
  observedMessage,
  observedState,
  START_MS,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import {
  ACCOUNT,
  contentOf,
  destinationOf,
  fanAll,
  fanOutOf,
  openedDb,
  openedDbs,
  outboxOf,
  stateOf,
  type TestDestination,
} from '../outbox.ts'

const SUBMISSIONS = Array.from({ length: 5 }, (_, n) => uuid(9, n + 1))

function ownMessage(submissionId: string, n: number) {
  const id = uuid(4, 1_000 * SUBMISSIONS.indexOf(submissionId) + n)
  return wireMessage(n, { attachments: [{ name: 'quote.pdf', download_path: `/broker/finalized-documents/${id}/pdf` }] })
}

function filled(submissionId: string, messages: number): Observation[] {
  const quote = { quote_id: uuid(7, 1), premium_display: '$1', total_cents: 100, lines: [], is_revision: false }
  return [
    ...Array.from({ length: messages }, (_, n) => observedMessage(ACCOUNT, submissionId, ownMessage(submissionId, n))),
    observedEvent(ACCOUNT, submissionId, wireEvent(1)),
    observedState(ACCOUNT, submissionId, wireRequirements(submissionId, [wireLane(1, { quotes: [quote] }), wireLane(2)]), 1),
  ]
}

/** The state of a receiver that overwrites; it must never get a change of an unknown row. */
function received(rows: readonly OutboxRow[]): Map<string, Row> {
  const known = new Map<string, Row>()
  const seen = new Set<string>()
  for (const row of rows) {
    const key = `${row.entity} ${row.entityId}`
    expect(seen.has(row.messageId), `${key} twice`).toBe(false)
    seen.add(row.messageId)
    expect(known.has(key), `${row.operation} of ${key}`).toBe(row.operation !== 'insert')
    // A repeated column has not gone back in between.
    for (const [column, value] of Object.entries(row.before ?? {})) expect(known.get(key)?.[column]).toEqual(value)
    known.set(key, { ...known.get(key), ...row.after })
  }
  return known
}

async function mirrored(db: Db): Promise<Map<string, Row>> {
  const all = new Map<string, Row>()
  for (const entity of entities) {
    // The change log also omits columns about read times.
    const unlogged = new Set(columnsWhere(entity, (field) => !isInChangeLog(field)))
    for (const row of await rowsOf(db, entity)) {
      const columns = Object.fromEntries(Object.entries(row).filter(([column]) => !unlogged.has(column)))
      all.set(`${entity.table} ${JSON.stringify(entity.key.slice(1).map((column) => row[column]))}`, columns)
    }
  }
  return all
}

describe.each(testDatabases)('a snapshot on $name', ({ name, open }) => {
  const fresh = (over: Partial<TestDestination> = {}) => destinationOf('new', { start: 'snapshot', ...over })

  it('sends each row of the mirror once, in its current state and with its seq', async () => {
    const db = await openedDb(open)
    // More rows of one table than a page takes.
    for (const [n, submission] of SUBMISSIONS.entries()) await applyAll(db, filled(submission, n === 2 ? 130 : 2))
    const last = (await changesOf(db)).at(-1)?.seq
    await fanAll(db, [fresh()])
    const rows = await contentOf(db, 'new')
    expect(received(rows)).toEqual(await mirrored(db))
    for (const row of rows) expect(row).toMatchObject({ snapshot: true, operation: 'insert', cause: 'snapshot', seq: last, before: null })
    expect(rows[0]?.changedAt).toMatch(/^\d{4}-/)
    expect(await stateOf(db, 'new')).toMatchObject({ snapshot: null, cursor: last, queued: rows.length })
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSIONS[0] ?? '', wireEvent(50))])
    await fanAll(db, [fresh()])
    expect((await outboxOf(db)).at(-1)).toMatchObject({ entity: 'market_events', snapshot: null, cause: 'webhook' })
    expect(received(await contentOf(db, 'new'))).toEqual(await mirrored(db))
  })

  it('sends the events of a submission in the order in which they happened', async () => {
    const db = await openedDb(open)
    const [submission = ''] = SUBMISSIONS
    const times = ['2026-11-20T10:03:00Z', '2026-11-20T10:01:00Z', '2026-11-20T10:02:00Z']
    for (const [n, occurred_at] of times.entries()) await applyAll(db, [observedEvent(ACCOUNT, submission, wireEvent(n, { occurred_at }))])
    await fanAll(db, [fresh({ entities: ['market_events'] })])
    expect((await outboxOf(db)).map((row) => (JSON.parse(row.entity_id) as string[])[1])).toEqual([1, 2, 0].map((n) => uuid(1, n)))
  })

  it('sends only rows that pass the filter', async () => {
    const clock = new ManualClock(START_MS)
    const db = await openedDb(open, clock)
    const [submission = ''] = SUBMISSIONS
    const old = { occurred_at: new Date(START_MS - 86_400_000 * 2).toISOString() }
    await applyAll(db, [
      observedEvent(ACCOUNT, submission, wireEvent(1, { type: 'bound' })),
      observedEvent(ACCOUNT, submission, wireEvent(2, { type: 'bound', ...old })),
      observedEvent(ACCOUNT, submission, wireEvent(3, { type: 'declined' })),
      observedMessage(ACCOUNT, submission, wireMessage(4, old)),
      observedMessage(ACCOUNT, submission, wireMessage(5)),
      observedEvent('other', submission, wireEvent(6, { type: 'bound' })),
    ])
    const entities = ['market_events', 'thread_messages', 'thread_attachments']
    await fanAll(db, [fresh({ entities, eventTypes: ['bound'], maxAgeMs: 86_400_000, operations: ['update'] })])
    expect((await outboxOf(db)).map((row) => [row.entity, (JSON.parse(row.entity_id) as string[])[1]])).toEqual([
      ['market_events', uuid(1, 1)],
      ['thread_messages', uuid(2, 5)],
      ['thread_attachments', uuid(2, 5)],
    ])
  })

  it('of an empty mirror, or without accounts, ends immediately', async () => {
    const db = await openedDb(open)
    await fanAll(db, [fresh(), destinationOf('none', { start: 'snapshot', accounts: ['unknown'] })])
    expect((await stateOf(db, 'new')).snapshot).toBeNull()
    expect((await stateOf(db, 'none')).snapshot).toBeNull()
    expect(await outboxOf(db)).toEqual([])
  })

  it('pauses while too many rows wait for the destination', async () => {
    const db = await openedDb(open)
    for (const submission of SUBMISSIONS) await applyAll(db, filled(submission, 40))
    const fanOut = fanOutOf(db, [fresh()])
    await fanOut.prepare()
    await putOutbox(db, 'new', { ready: 10_000 })
    expect(await fanOut.step()).toBe(false)
    expect(await outboxOf(db)).toHaveLength(10_000)
    await putOutbox(db, 'new', {})
    while (await fanOut.step()) {}
    expect(received(await contentOf(db, 'new'))).toEqual(await mirrored(db))
  })

  it('sends each row once and then each of its changes, whenever they happen', async () => {
    const step = fc.record({ submission: fc.nat(4), n: fc.nat(5), kind: fc.constantFrom('event', 'message', 'state', 'fill') })
    const factOf = ({ submission, n, kind }: { submission: number; n: number; kind: string }, age: number): Observation => {
      const id = SUBMISSIONS[submission] ?? ''
      if (kind === 'state') return observedState(ACCOUNT, id, wireRequirements(id, [wireLane(n, { chip: `chip ${age}` })]), age)
      if (kind === 'message') return observedMessage(ACCOUNT, id, ownMessage(id, n))
      return observedEvent(ACCOUNT, id, wireEvent(n, { detail: kind === 'fill' ? `Reason ${n}` : null }), byPoll)
    }
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 3 }), { maxLength: 12 }), async (rounds) => {
        const opened = await open()
        const { db } = opened
        try {
          for (const [n, submission] of SUBMISSIONS.entries()) await applyAll(db, filled(submission, n === 3 ? 105 : 10 * n))
          const fanOut = fanOutOf(db, [fresh(), destinationOf('other')])
          await fanOut.prepare()
          let age = 10
          for (const round of rounds) {
            for (const one of round) await applyAll(db, [factOf(one, age++)])
            await fanOut.step()
          }
          while (await fanOut.step()) {}
          expect(received(await contentOf(db, 'new'))).toEqual(await mirrored(db))
          expect((await outboxOf(db, 'other')).map((row) => row.seq)).toEqual((await changesOf(db)).map((change) => change.seq))
        } finally {
          await opened.close()
        }
      }),
      { numRuns: name === 'sqlite' ? 8 : 3 },
    )
  })

  it('does so while other processes write and fan out', async () => {
    const dbs = await openedDbs(open, 3)
    const [db] = dbs as [Db]
    for (const submission of SUBMISSIONS) await applyAll(db, filled(submission, 60))
    const stop = new AbortController()
    const services = dbs.slice(0, name === 'postgres' ? 2 : 1).map((one) => fanOutOf(one, [fresh()]).run(stop.signal))
    await Promise.all(
      dbs.map(async (one, writer) => {
        for (let n = 0; n < 30; n++) {
          const submission = SUBMISSIONS[(writer + n) % SUBMISSIONS.length] ?? ''
          await applyAll(one, [
            observedEvent(ACCOUNT, submission, wireEvent(100 + writer * 100 + n)),
            observedMessage(ACCOUNT, submission, ownMessage(submission, n + 10)),
          ])
        }
      }),
    )
    const last = (await changesOf(db)).at(-1)?.seq
    await expect.poll(() => stateOf(db, 'new')).toMatchObject({ snapshot: null, cursor: last })
    stop.abort()
    await Promise.all(services)
    expect(received(await contentOf(db, 'new'))).toEqual(await mirrored(db))
  })
})
