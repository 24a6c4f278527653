import { describe, expect, it, onTestFinished } from 'vitest'
import { inApplyTransaction } from '../../../src/apply/apply.ts'
import { compareObservations, differs } from '../../../src/apply/compare.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { entities } from '../../../src/model/entities.ts'
import type { Observation } from '../../../src/model/observations.ts'
import type { ProtectionSettings } from '../../../src/model/protection/protection.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { protectStored } from '../../../src/ops/protect/protect-step.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { findDeliveries, makeReady } from '../../../src/store/inbox/queries.ts'
import { RejectedStore } from '../../../src/store/inbox/rejected.ts'
import { claimDeliveries, settleDeliveries } from '../../../src/store/inbox/work.ts'
import { noteUnreadable } from '../../../src/store/mirror/conflicts.ts'
import { MirrorReader } from '../../../src/store/mirror/reader.ts'
import { queueRows } from '../../../src/store/outbox/fan-out.ts'
import { presentRows } from '../../../src/store/outbox/present-rows.ts'
import { rowsOfSubmission, snapshotPage } from '../../../src/store/outbox/snapshot-rows.ts'
import { lastProtect } from '../../../src/store/upkeep/protect.ts'
import { readDeliveries } from '../../../src/work/read-observations.ts'
import { silentLog, testDatabases } from '../../tools/databases.ts'
import { dumpOf } from '../../tools/dump.ts'
import { meddled } from '../../tools/meddled.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import {
  byFullRead,
  byPoll,
  observedEvent,
  observedMessage,
  observedState,
  uuid,
  wireEvent,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const SSN = '123-45-6789'
const ACCOUNT = 'acme'
const ID = uuid(9, 1)
const never = new AbortController().signal
const keys = ['k1', 'k2'].map((id, n) => ({ id, key: Buffer.alloc(32, n + 1) }))
const [k1, k2] = keys as [(typeof keys)[0], (typeof keys)[0]]
const drop: ProtectionSettings = { mode: 'drop', keys: [], taxIdFields: [] }
const keep: ProtectionSettings = { ...drop, mode: 'keep' }
const encrypt = (...used: (typeof keys)[0][]): ProtectionSettings => ({ mode: 'encrypt', keys: used, taxIdFields: [] })

const HIDDEN = {
  fein_or_ssn: SSN,
  unknown: [{ deep: { Tax_ID: SSN } }],
  facts: [{ key: 'applicant.fein', value: SSN, evidence: { text: SSN } }],
  answers: [{ question_key: 'owner_ssn', answer: { given: SSN } }],
  text: JSON.stringify({ ein: SSN }),
  source_facts: [{ key: 'applicant.fein', source: { id: 's1', snippet: SSN, content_hash: SSN } }],
  form: { NamedInsured_TaxIdentifier_A: SSN, answers: { d1: JSON.stringify({ d2: JSON.stringify({ fein_number: SSN }) }) } },
  fields: [{ field_name: 'FEIN', display_value: SSN }, `refused: {"ssns":["${SSN}"]}`],
}

const event = (n: number, over = {}) =>
  wireEvent(n, { ...HIDDEN, detail: JSON.stringify({ ssn: SSN }), ...over }, { lines: [{ ssn: SSN }] })
const truth = (): Observation[] => [
  observedEvent(ACCOUNT, ID, event(1), byPoll),
  observedMessage(ACCOUNT, ID, wireMessage(1, HIDDEN), byPoll),
  observedState(ACCOUNT, ID, { ...wireRequirements(ID, []), ...HIDDEN }, 1),
]

async function fill(db: Db): Promise<void> {
  await applyAll(db, truth())
  await applyAll(db, [observedEvent(ACCOUNT, ID, event(1, { type: 'another' }), byPoll)])
  await db.write('test', async (tx) => {
    await noteUnreadable(tx, [{ account: ACCOUNT, submission_id: ID, read: 'events', raw: JSON.stringify(HIDDEN) }], timeFromMs(Date.now()))
  })
  const delivery = { account: ACCOUNT, receivedAt: timeFromMs(Date.now()), headers: {}, secret: 1 }
  const bodies = [
    { deliveryId: 'applied', body: { type: 'submission.events', submission_id: ID, events: [event(2)] } },
    { deliveryId: 'aside', body: { type: 'unheard.of', ...HIDDEN } },
  ].map(({ deliveryId, body }) => ({ ...delivery, deliveryId, body: Buffer.from(JSON.stringify(body)) }))
  await new InboxAppender(db).append([...bodies, { ...delivery, deliveryId: 'cut', body: Buffer.from(`{"ssn":"${SSN}","x":`) }])
  await work(db)
  const store = new RejectedStore(db, silentLog)
  const rejected = { account: ACCOUNT, path: '/webhooks', address: '192.0.2.1', reason: 'wrong_signature', headers: {} }
  store.keep({ ...rejected, receivedAt: delivery.receivedAt, body: Buffer.from(JSON.stringify(HIDDEN)) })
  await store.settled()
}

async function work(db: Db): Promise<void> {
  const read = await readDeliveries(db, await claimDeliveries(db, 100, 60_000))
  await inApplyTransaction(db, silentObserver, 'test', async ({ tx, apply }) => {
    await apply(read.flatMap(({ observations }) => observations))
    await settleDeliveries(
      tx,
      read.map(({ settlement }) => settlement),
    )
  })
}

async function isTheSame(db: Db): Promise<boolean> {
  const observations = [...truth(), observedEvent(ACCOUNT, ID, event(2), byFullRead)]
  return !differs(await compareObservations(new MirrorReader(db.read, ACCOUNT), observations, timeFromMs(Date.now())))
}

const step = (db: Db) => protectStored({ db, clock: { ...systemClock, sleep: async () => {} } }, never)

describe.each(testDatabases)('tax ids on $name', ({ open }) => {
  async function opened(settings: ProtectionSettings): Promise<Db> {
    const { db } = await closedAtEnd(open())
    db.protection.use(settings)
    onTestFinished(() => db.protection.use(drop))
    await fill(db)
    return db
  }

  it.each([
    ['drop', drop],
    ['encrypt', encrypt(k1)],
  ] as const)('%s: no table contains one from any source, and a repeat is no change', async (_, settings) => {
    const db = await opened(settings)
    expect(await dumpOf(db)).not.toContain(SSN)
    expect(await isTheSame(db)).toBe(true)
    const before = (await changesOf(db)).length
    const replayed = (await findDeliveries(db.read, 'applied')).map(({ inbox_id }) => inbox_id)
    await makeReady(db, replayed)
    await work(db)
    await applyAll(db, truth())
    expect(await changesOf(db)).toHaveLength(before)
    expect(await dumpOf(db)).not.toContain(SSN)
  })

  it('trap 75: data stored before `PROTECT` changed is no difference, and is rewritten in steps that continue after an interruption', async () => {
    const db = await opened(keep)
    const seqs = (await changesOf(db)).map(({ seq }) => seq)
    db.protection.use(drop)
    expect(await dumpOf(db)).toContain(SSN)
    expect(await isTheSame(db)).toBe(true)
    let writes = 0
    const stopping = new AbortController()
    const watched = meddled(db, async (name, go) => {
      if (name === 'protect' && ++writes === 3) stopping.abort()
      return await go()
    })
    expect(await protectStored({ db: watched, clock: systemClock }, stopping.signal)).toBe('stopped')
    const half = (await lastProtect(db.read))?.progress
    expect(half?.rewritten).toBeGreaterThan(0)
    expect(await dumpOf(db)).toContain(SSN)
    expect(await step(db)).toEqual({ rewritten: expect.any(Number) })
    expect((await lastProtect(db.read))?.progress.rewritten).toBeGreaterThan(half?.rewritten ?? 0)
    expect(await dumpOf(db)).not.toContain(SSN)
    expect(await isTheSame(db)).toBe(true)
    expect(
      (await changesOf(db)).map(({ seq }) => seq),
      'no change is logged',
    ).toEqual(seqs)
    expect(await step(db)).toBe('done')
  })

  it('no row of the mirror is queued for a destination in the form of before', async () => {
    const db = await opened(keep)
    db.protection.use(drop)
    const tables = entities.map(({ table }) => table)
    const restated = await rowsOfSubmission(db.read, tables, ACCOUNT, ID, 100)
    const { rows } = await snapshotPage(db.read, { accounts: [ACCOUNT], entities: null }, null, 100)
    const present = [...(await presentRows(db.read, restated)).values()]
    for (const queued of [restated, rows, present]) {
      expect(queued.length).toBeGreaterThan(2)
      expect(JSON.stringify(queued)).not.toContain(SSN)
    }
  })

  it('waiting rows of a snapshot are rewritten, and so are answers of targets', async () => {
    const db = await opened(keep)
    const snapshot = { changed_at: timeFromMs(Date.now()), after: { fein_or_ssn: SSN, insured_name: 'Acme' } }
    const row = { destination: 'ams', account: ACCOUNT, submissionId: ID, entity: 'submissions', entityId: `["${ID}"]`, seq: 1, snapshot }
    await db.write('test', (tx) => queueRows(tx, [{ ...row, operation: 'insert', cause: 'poll', messageId: 'm1', uncertain: false }], []))
    const body = JSON.stringify({ put: 'https://ams.example/9', insured: { ssn: SSN } })
    const progress = JSON.stringify({ step: 'record_taken', body })
    await db.write('test', (tx) => tx.sql.updateTable('sync_outbox').set({ progress }).execute())
    db.protection.use(drop)
    await step(db)
    const [kept] = await db.read.sql.selectFrom('sync_outbox').select(['snapshot', 'progress']).execute()
    expect(kept?.snapshot).not.toContain(SSN)
    expect(kept?.snapshot).toContain('Acme')
    expect(kept?.progress).not.toContain(SSN)
    expect(kept?.progress).toContain('https://ams.example/9')
  })

  it('a new key rewrites values of the old one; then nothing needs the old one', async () => {
    const db = await opened(encrypt(k1))
    db.protection.use(encrypt(k2, k1))
    expect(await isTheSame(db)).toBe(true)
    await step(db)
    expect(await dumpOf(db)).not.toContain('enc:k1:')
    db.protection.use(encrypt(k2))
    expect(await isTheSame(db)).toBe(true)
    db.protection.use({ ...keep, keys: [k2] })
    await step(db)
    expect(await dumpOf(db)).not.toContain('enc:')
  })
})
