import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import { storeMappings } from '../../../src/store/outbox/push-map.ts'
import { runHere } from '../../app/run.ts'
import { file } from '../../config/support.ts'
import { accountEnv, databaseEnv, type ServeProcess, startServe } from '../../e2e/serve.ts'
import { type SalesforceEmulator, startSalesforce } from '../../emulators/salesforce.ts'
import { type OpenedDatabase, sqliteDatabase } from '../../tools/databases.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import { observedEvent, trackFact, uuid, wireEvent } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { outboxOf, streamsIn } from '../outbox.ts'
import { outboxBecomes } from '../outbox-states.ts'
import { type NotesScene, startNotes } from './notes-suite.ts'
import { ACCOUNT } from './rig.ts'

const ACCOUNT_ID = '001000000000001AAA'
const ENV = { SALESFORCE_HOST: 'acme.my.salesforce.com', SALESFORCE_CLIENT_ID: 'the-app', SALESFORCE_CLIENT_SECRET: 'the-secret' }
const start = () => startSalesforce({ clientId: 'the-app', clientSecret: 'the-secret', accounts: [ACCOUNT_ID] })
const where = ({ url }: SalesforceEmulator) =>
  `settings: { base_url: "${url}", pause_seconds: 0.2, lock_seconds: 0.1 }, auth: { token_url: "${url}/services/oauth2/token" }`

const salesforce = { preset: 'salesforce-batch', env: ENV, start, where, client: ACCOUNT_ID, stranger: '', hasTokens: true }

const submission = (n: number) => uuid(9, n + 1)
const events = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => observedEvent(ACCOUNT, submission(n), wireEvent(from + n + 1)))
const tracked = (count: number) => Array.from({ length: count }, (_, n) => trackFact(ACCOUNT, submission(n)))
const mappings = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    destination: 'ams',
    account: ACCOUNT,
    submissionId: submission(n),
    client: ACCOUNT_ID,
    policy: null,
    fields: {},
  }))

function batches({ arrived }: SalesforceEmulator): string[][] {
  const bodies = arrived.flatMap(({ method, body }) => (method === 'PATCH' ? [JSON.parse(body)] : []))
  return bodies.map(({ records }) => records.map((record: { Submission_Mirror_Id__c: string }) => record.Submission_Mirror_Id__c))
}

async function waiting(count: number): Promise<NotesScene<SalesforceEmulator> & { readonly ids: readonly string[] }> {
  const scene = await startNotes(salesforce, sqliteDatabase, '', null)
  await scene.rig.apply(...tracked(count), ...events(count))
  const { db } = scene.rig
  await until('all wait', async () => (await streamsIn(db)).filter(({ blocked }) => blocked === 'unmapped').length === count)
  return { ...scene, ids: (await outboxOf(db)).map(({ message_id: id }) => id) }
}

it('has 199 of 200 after one request when one of them is rejected', async () => {
  const { target, rig, ids } = await waiting(200)
  const refused = ids[120] ?? ''
  target.recordErrors.set(refused, ['DUPLICATES_DETECTED'])
  await storeMappings(rig.db, mappings(200), 'import')
  const rows = await until('all are settled', async () => {
    const found = await outboxOf(rig.db)
    return found.every(({ state }) => state !== 'ready') && found
  })
  expect(rows.map(({ state }) => state)).toEqual(ids.map((id) => (id === refused ? 'dead' : 'delivered')))
  expect(batches(target)).toEqual([ids])
  expect(target.notes.map(({ externalId }) => externalId)).toEqual(ids.filter((id) => id !== refused))
  expect(rows.map(({ attempts }) => attempts)).toEqual(ids.map(() => 1))
  expect(rows[120]?.error).toBe('answered 200 (DUPLICATES_DETECTED: as the test wants it), which rejects the change (refused)')
})

it('lets a locked record wait alone, counts no attempt of it, and keeps the order of its submission', async () => {
  const { target, rig, ids } = await waiting(3)
  const locked = ids[1] ?? ''
  target.recordErrors.set(locked, ['UNABLE_TO_LOCK_ROW', 'UNABLE_TO_LOCK_ROW'])
  await rig.apply(observedEvent(ACCOUNT, submission(1), wireEvent(900)))
  await storeMappings(rig.db, mappings(3), 'import')
  const rows = await rig.becomes(...Array<string>(4).fill('delivered'))
  const last = rows[3]?.message_id ?? ''
  expect(batches(target)).toEqual([ids, [locked], [locked], [last]])
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1])
  expect(target.notes.map(({ externalId }) => externalId)).toEqual([ids[0], ids[2], locked, last])
})

it('waits as a whole while the quota is used up, and counts no attempt', async () => {
  const { target, rig, ids } = await waiting(3)
  target.fail('busy', 'busy')
  await storeMappings(rig.db, mappings(3), 'import')
  const rows = await rig.becomes(...Array<string>(3).fill('delivered'))
  expect(batches(target)).toEqual([ids, ids, ids])
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1])
  expect((await rig.state())?.state).toBe('active')
})

it('finds the change for which the whole batch is rejected, and accepts all others', async () => {
  const { target, rig, ids } = await waiting(8)
  const bad = ids[5] ?? ''
  target.refusesWhole = (body) => body.includes(bad)
  await storeMappings(rig.db, mappings(8), 'import')
  const rows = await rig.becomes(...ids.map((id) => (id === bad ? 'dead' : 'delivered')))
  expect(rows.map(({ attempts }) => attempts)).toEqual(ids.map((id) => (id === bad ? 3 : 1)))
  expect(target.notes.map(({ externalId }) => externalId).sort()).toEqual(ids.filter((id) => id !== bad).sort())
})

it('has each change once when the program is killed between the request and the end of it', async () => {
  const count = 40
  const { target, opened, env } = await placed(count)
  // The first batch is taken, and also the next process's: neither learns it.
  target.fail('hang', 'hang')
  for (let life = 1; life <= 2; life++) await killedWhen(env, () => batches(target).length >= life)
  const serve = await startServe(env)
  onTestFinished(() => serve.kill())
  const rows = await outboxBecomes(opened.db, 'ams', Array<string>(2 * count).fill('delivered'))
  const ids = rows.map(({ message_id: id }) => id)
  expect(new Set(target.notes.map(({ externalId }) => externalId))).toEqual(new Set(ids))
  expect(target.notes).toHaveLength(2 * count)
  const [first = [], second = []] = batches(target)
  expect(first.length).toBeGreaterThan(1)
  for (const id of [...first, ...second])
    expect(
      batches(target)
        .flat()
        .filter((sent) => sent === id).length,
    ).toBeGreaterThan(1)
  await expectInOrder(opened, target)
})

it('is waited for, not suspended, if it has no quota left for the query of one record', async () => {
  const { target, rig } = await waiting(1)
  await storeMappings(rig.db, mappings(1), 'import')
  await rig.becomes('delivered')
  target.failReads('busy')
  expect(await rig.verify()).toMatchObject({ asked: 1, has: 1 })
  expect((await rig.state())?.state).toBe('active')
})

it('is shown as it would be sent, with nothing sent', async () => {
  const { target, opened, env } = await placed(1)
  const change = (await changesOf(opened.db)).find(({ entity }) => entity === 'market_events')
  const shown = await runHere(['destination', 'preview', 'ams', '--seq', String(change?.seq)], env)
  expect(shown).toMatchObject({ code: 0, err: '' })
  expect(shown.out).toContain(`PATCH ${target.url}/services/data/v61.0/composite/sobjects/Task/Submission_Mirror_Id__c\n`)
  expect(shown.out).toContain('{"allOrNone":false,"records":[{"attributes":{"type":"Task"},"Subject":"')
  expect(shown.out).toContain(`"WhatId":"${ACCOUNT_ID}","Submission_Mirror_Id__c":"`)
  expect(target.arrived).toEqual([])
})

async function placed(count: number) {
  const target = await closedAtEnd(start())
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const opened = await closedAtEnd(sqliteDatabase.open())
  await applyAll(opened.db, [...tracked(count), ...events(count), ...events(count, count)])
  await storeMappings(opened.db, mappings(count), 'import')
  const keys = `start: 0, lookup_after: 50ms, backfill: true, rps: 100, schedule: [50ms, 50ms, 50ms], allow_private: true, allow_hosts: [127.0.0.1], timeout: 1m`
  const settings = file(`destinations:\n  - { name: ams, preset: salesforce-batch, ${where(target)}, ${keys} }\n`)
  return { target, opened, env: { ...accountEnv(sandbox), ...databaseEnv(opened.config), ...ENV, CONFIG_FILE: settings } }
}

async function killedWhen(env: Readonly<Record<string, string>>, isTime: () => boolean): Promise<void> {
  const serve: ServeProcess = await startServe(env)
  await until('it is time', isTime)
  await serve.kill()
}

/** Each change arrives first after earlier ones of its submission. */
async function expectInOrder({ db }: OpenedDatabase, target: SalesforceEmulator): Promise<void> {
  const rows = await db.read.sql.selectFrom('sync_outbox').select(['submission_id', 'message_id']).orderBy('outbox_id').execute()
  const taken = target.notes.map(({ externalId }) => externalId)
  for (const [of, own] of Map.groupBy(rows, (row) => row.submission_id)) {
    const places = own.map((row) => taken.indexOf(row.message_id))
    expect(places, `of ${of}`).toEqual(places.toSorted((a, b) => a - b))
  }
}
