import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { ScheduledVerification } from '../../../src/ops/verify/scheduled-verification.ts'
import { runHere } from '../../app/run.ts'
import { withFile } from '../../config/support.ts'
import { startSalesforce } from '../../emulators/salesforce.ts'
import type { StoredNote } from '../../emulators/server.ts'
import { type NotesCase, startNotes } from '../../push/presets/notes-suite.ts'
import type { PushRig } from '../../push/presets/rig.ts'
import { event, SUBMISSION } from '../../push/presets/rig.ts'
import { compiledEnv } from '../../tools/compile-cache.ts'
import { silentLog, sqliteDatabase } from '../../tools/databases.ts'
import { programPath } from '../../tools/program.ts'
import { until } from '../../tools/until.ts'

const salesforce: NotesCase<Awaited<ReturnType<typeof startSalesforce>>> = {
  preset: 'salesforce',
  env: { SALESFORCE_HOST: 'acme.my.salesforce.com', SALESFORCE_CLIENT_ID: 'the-id', SALESFORCE_CLIENT_SECRET: 'the-secret' },
  start: () => startSalesforce({ clientId: 'the-id', clientSecret: 'the-secret', accounts: ['001000000000001'] }),
  where: ({ url }) => `settings: { base_url: "${url}" }, auth: { token_url: "${url}/services/oauth2/token" }`,
  client: '001000000000001',
  stranger: '001000000000002',
  hasTokens: true,
}

async function delivered(count: number, own = 'timeout: 1m') {
  const { target, rig } = await startNotes(salesforce, sqliteDatabase, own)
  await rig.map(SUBMISSION, salesforce.client)
  for (let n = 1; n <= count; n += 1) await rig.apply(event(n))
  await rig.becomes(...Array<string>(count).fill('delivered'))
  const note = (place: number): StoredNote => {
    const found = target.notes[place]
    if (found === undefined) throw new Error('it has no such note')
    return found
  }
  return { target, rig, note }
}

const verifyOf = (rig: PushRig, ...args: readonly string[]) => runHere(['destination', 'verify', 'ams', ...args], rig.env)

describe('destination verify', () => {
  it('shows by its exit code whether all is present, something is missing, or something is undetermined', async () => {
    const { target, rig, note } = await delivered(3)
    const all = await verifyOf(rig)
    expect([all.code, all.out]).toEqual([0, 'Destination ams has all 3 changes.\n'])

    target.rewrite(note(1).id, 'Something else')
    const differs = await verifyOf(rig, '--json')
    expect(differs.code).toBe(3)
    expect(JSON.parse(differs.out)).toMatchObject({
      asked: 3,
      has: 2,
      differs: 1,
      complete: true,
      changes: [{ result: 'differs', submission_id: SUBMISSION }],
    })

    target.remove(note(2).id)
    const lacks = await verifyOf(rig)
    expect([lacks.code, lacks.out]).toEqual([3, expect.stringContaining('Destination ams lacks 1, differs in 1 of 3 changes.\n')])
    const repaired = await verifyOf(rig, '--repair')
    expect([repaired.code, repaired.out]).toEqual([3, expect.stringContaining('1 change queued again')])
    await until(
      'it is there again',
      async () => target.notes.length === 3 && (await rig.outbox()).every(({ state }) => state === 'delivered'),
    )

    target.failReads('refuse')
    const unclear = await verifyOf(rig)
    expect([unclear.code, unclear.out]).toEqual([
      1,
      expect.stringMatching(/differs in 1, could not be checked for 1 of 3|could not be checked for 1 of 3/),
    ])
    const actions = await rig.db.read.sql.selectFrom('operator_actions').select(['action', 'outcome']).execute()
    expect(actions.every(({ action, outcome }) => action === 'destination.verify' && outcome === 'done')).toBe(true)
    const status = JSON.parse((await runHere(['destination', 'list', '--json'], rig.env)).out) as { items: readonly object[] }
    expect(status.items[0]).toMatchObject({ can_verify: true, verified: { delivered: 3, asked: 3, undetermined: 1 } })
  })

  it('asks for a submission, a sample, or changes delivered since a time', async () => {
    const { rig } = await delivered(4)
    const asked = async (...args: readonly string[]) =>
      (JSON.parse((await verifyOf(rig, '--json', ...args)).out) as { asked: number }).asked
    expect(await asked('--sample', '2')).toBe(2)
    expect(await asked('--submission', SUBMISSION)).toBe(4)
    expect(await asked('--since', '1h')).toBe(4)
    const both = await verifyOf(rig, '--sample', '2', '--since', '1h')
    expect([both.code, both.err]).toEqual([2, expect.stringContaining('use only one of submission, sample, since')])
  })

  it('rejects with a sentence a destination that cannot be verified, or is stopped', async () => {
    const { rig } = await delivered(1)
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_destinations').set({ state: 'suspended' }).execute())
    const suspended = await verifyOf(rig)
    expect([suspended.code, suspended.err]).toEqual([
      2,
      expect.stringContaining('destination ams is suspended; resume it before verifying it'),
    ])
    const destination = `{ name: hook, kind: webhook, url: "https://ams.example/hook", secret: "$\{HOOK1}" }`
    const hook = { ...rig.env, ...withFile(`destinations: [${destination}]`) } as Record<string, string>
    const refused = await runHere(['destination', 'verify', 'hook'], hook)
    expect([refused.code, refused.err]).toEqual([
      2,
      expect.stringContaining('destination hook cannot be verified: webhooks cannot be queried'),
    ])
  })

  it('killed in the middle keeps the results, and starts again without harm', async () => {
    const { target, rig, note } = await delivered(12, 'concurrency: 1')
    for (const place of [11, 6, 1]) target.remove(note(place).id)
    const before = target.arrived.length
    const child = spawn(process.execPath, [programPath('main'), 'destination', 'verify', 'ams', '--repair'], {
      env: { PATH: process.env['PATH'] ?? '', ...compiledEnv(), ...rig.env },
      stdio: 'ignore',
    })
    const closed = once(child, 'close')
    const reads = () => target.arrived.slice(before).filter(({ method }) => method === 'GET').length
    await until('it asks', () => reads() >= 6 || child.exitCode !== null)
    child.kill('SIGKILL')
    await closed
    const again = await verifyOf(rig, '--repair', '--json')
    await until('all is there', async () => target.notes.length === 12 && (await rig.outbox()).every(({ state }) => state === 'delivered'))
    expect(JSON.parse(again.out)).toMatchObject({ undetermined: 0, differs: 0 })
    expect(await rig.verify()).toMatchObject({ delivered: 12, has: 12, lacks: 0 })
    expect(await rig.outbox()).toHaveLength(15)
  })
})

describe('the timetable of a verification', () => {
  const open = async (own = '') => {
    const { target, rig, note } = await delivered(5, `concurrency: 1, verify: { cron: "0 4 * * *" ${own} }`)
    const [destination] = loadConfig(rig.env).destinations
    if (destination?.kind !== 'http') throw new Error('it is of another kind')
    const parts = { db: rig.db, clock: systemClock, log: silentLog, observer: silentObserver, config: loadConfig(rig.env), version: '0' }
    const schedule = { cron: '0 4 * * *', timeZone: 'UTC' }
    const service = () => new ScheduledVerification({ ...parts, destination, sample: destination.verify?.sample ?? null, schedule })
    return { target, rig, note, service }
  }
  const never = new AbortController().signal

  it('asks once for each scheduled time, repairs nothing, and reports what is missing', async () => {
    const { target, rig, note, service } = await open()
    target.remove(note(0).id)
    expect(await service().runIfDue(never)).toBe('ran')
    expect(await service().runIfDue(never)).toBe('done')
    const [row] = await rig.db.read.sql.selectFrom('push_verifications').selectAll().where('result', '=', 'lacks').execute()
    expect(row).toMatchObject({ destination: 'ams', submission_id: SUBMISSION, entity: 'market_events', repaired_at: null })
    expect(await rig.outbox()).toHaveLength(5)
  })

  it('continues where a stopped run ended, and includes its results', async () => {
    const { target, service } = await open()
    const stopping = new AbortController()
    target.failReads('take', 'take', 'take', 'hang')
    const before = target.arrived.length
    const cut = service().runIfDue(stopping.signal)
    const reads = () => target.arrived.slice(before).filter(({ method }) => method === 'GET').length
    await until('it waits for an answer', () => reads() === 4)
    stopping.abort()
    expect(await cut).toBe('stopped')
    expect(await service().runIfDue(never)).toBe('ran')
    expect(reads()).toBe(4 + 3)
  })

  it('asks for a sample only, and fails while the destination is suspended', async () => {
    const { target, rig, service } = await open(', sample: 2')
    const before = target.arrived.length
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_destinations').set({ state: 'suspended' }).execute())
    expect(await service().runIfDue(never)).toBe('failed')
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_destinations').set({ state: 'active' }).execute())
    expect(await service().runIfDue(never)).toBe('ran')
    expect(target.arrived.slice(before).filter(({ method }) => method === 'GET')).toHaveLength(2)
  })
})
