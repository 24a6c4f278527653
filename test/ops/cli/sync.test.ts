import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { ensureAccounts, findAccount, stopAccount } from '../../../src/store/reads/accounts.ts'
import { claimReads, releaseRead } from '../../../src/store/reads/claims.ts'
import { findPause, savePause } from '../../../src/store/reads/pauses.ts'
import { countProcesses } from '../../../src/store/upkeep/processes.ts'
import { runHere } from '../../app/run.ts'
import { accountEnv, databaseEnv, type Environment } from '../../e2e/serve.ts'
import { type OpenedDatabase, onSqlite } from '../../tools/databases.ts'
import { until } from '../../tools/until.ts'

const ACCOUNT = 'default'

describe.each(onSqlite)('commands on $name', (database) => {
  let sandbox: Sandbox
  let opened: OpenedDatabase
  let db: Db
  let env: Environment
  let id: string
  beforeEach(async () => {
    sandbox = await startSandbox({ submissions: 0, autoStart: false })
    opened = await database.open()
    db = opened.db
    env = { ...accountEnv(sandbox), ...databaseEnv(opened.config) }
    id = sandbox.addSubmission(ACCOUNT)
    sandbox.addMessage(ACCOUNT, id, { body_text: 'The quote is here.' })
    expect((await runHere(['track', id], env)).code).toBe(0)
  })
  afterEach(async () => {
    await sandbox.close()
    await opened.close()
  })

  const messages = () => db.read.sql.selectFrom('thread_messages').select('message_id').execute()

  it('a command that begins a new log epoch says so', async () => {
    await db.write('test', (tx) => tx.sql.updateTable('sync_log_epochs').set({ origin: 'elsewhere' }).execute())
    const ended = await runHere(['sync', id], env)
    const { log_epoch } = await db.read.sql.selectFrom('mirror_info').select('log_epoch').executeTakeFirstOrThrow()
    expect(ended.err).toMatch(new RegExp(`^this database is a copy .*; a new log epoch, ${log_epoch}, begins after change \\d+: .*\n$`))
    expect(ended.code).toBe(0)
    expect(await runHere(['sync', id], env)).toMatchObject({ code: 0, err: '' })
  })

  it('a dry run begins no log epoch, nor makes the row of mirror_info', async () => {
    const info = () => db.read.sql.selectFrom('mirror_info').selectAll().execute()
    const dryRun = () => runHere(['reconcile', '--dry-run'], env)
    const before = await info()
    await db.write('test', (tx) => tx.sql.updateTable('sync_log_epochs').set({ origin: 'elsewhere' }).execute())
    expect((await dryRun()).code).toBe(3)
    expect(await info()).toEqual(before)
    await db.write('test', (tx) => tx.sql.deleteFrom('mirror_info').execute())
    expect(await dryRun()).toMatchObject({ code: 1, err: expect.stringContaining('the row of mirror_info was deleted') })
    expect(await info()).toEqual([])
  })

  it('sync reads a submission now, whether it is due or not', async () => {
    expect(await runHere(['sync', id], env)).toMatchObject({ code: 0, err: '' })
    expect(await messages()).toHaveLength(1)
    sandbox.addMessage(ACCOUNT, id, { body_text: 'And another.' })
    expect((await runHere(['sync', '--all'], env)).out).toMatch(/^1 submission read in account default: \d+ changes?, 0 reads failed\n$/)
    expect(await messages()).toHaveLength(2)
    expect((await countProcesses(db.read)).reading).toBe(0)
  })

  it('sync waits for a read that another process is making', async () => {
    const [held] = await claimReads(db, { account: ACCOUNT, submissionIds: [id], read: 'thread', limit: 1, leaseMs: 60_000 })
    if (!held) throw new Error('nothing could be claimed')
    const syncing = runHere(['sync', id], env)
    await until('it reads', async () => (await countProcesses(db.read)).reading > 0)
    expect(await messages()).toHaveLength(0)
    await releaseRead(db, held)
    expect(await syncing).toMatchObject({ code: 0, err: '' })
    expect(await messages()).toHaveLength(1)
  })

  it('sync makes a read that its submission has lost, too', async () => {
    await db.write('test-lost-read', (tx) => tx.sql.deleteFrom('sync_reads').where('read', '=', 'thread').execute())
    expect(await runHere(['sync', id], env)).toMatchObject({ code: 0, err: '' })
    expect(await messages()).toHaveLength(1)
  })

  it('sync retries a failing read, then lists it and exits with 1', async () => {
    sandbox.faults.add({ kind: 'status', status: 500, operation: 'requirements', count: 1 })
    expect((await runHere(['sync', id], env)).code).toBe(0)
    sandbox.faults.add({ kind: 'status', status: 500, operation: 'thread' })
    const ended = await runHere(['sync', id], env)
    expect(ended.code).toBe(1)
    expect(ended.err).toMatch(new RegExp(`^thread of submission ${id} could not be read: .*500.*\\n$`))
    expect(ended.out).toContain('1 read failed')
  })

  it('trap 49: sync and reconcile refuse in a long pause, say until when, and send nothing', async () => {
    await ensureAccounts(db, [ACCOUNT])
    await savePause(db, ACCOUNT, { ms: 3_600_000, reason: '429 with Retry-After to GET …/events' })
    for (const args of [['sync', id], ['sync', '--all'], ['reconcile']]) {
      const refused =
        /^account default waits until \d{4}-\d\d-\d\dT[\d:]{8}Z: 429 with Retry-After to GET …\/events; run the command again then\n$/
      expect(await runHere(args, env)).toMatchObject({ code: 4, err: expect.stringMatching(refused) })
    }
    expect(sandbox.activity.requests).toEqual([])
    expect(await db.read.sql.selectFrom('reconcile_runs').select('run_id').execute()).toEqual([])
  })

  it('trap 49: sync ends when the service asks it for a long pause, which is kept for others', async () => {
    sandbox.faults.add({ kind: 'status', status: 503, operation: 'thread', retryAfterSeconds: 600, count: 1 })
    expect(await runHere(['sync', id], env)).toMatchObject({
      code: 4,
      err: expect.stringContaining('503 with Retry-After to GET …/thread'),
    })
    expect(await findPause(db.read, ACCOUNT)).toMatchObject({ isLong: true, reason: '503 with Retry-After to GET …/thread' })
  })

  it('trap 49: sync waits for the end of a short pause, and says so', async () => {
    await ensureAccounts(db, [ACCOUNT])
    await savePause(db, ACCOUNT, { ms: 7_000, reason: '429 with Retry-After to GET …/events' })
    const ended = await runHere(['sync', id], env)
    expect(ended).toMatchObject({ code: 0, err: expect.stringMatching(/^account default waits until .*; this command waits\n$/) })
    expect(await findPause(db.read, ACCOUNT)).toBeNull()
  })

  it('trap 02: sync does not treat a cursor that stays the same as the end of a feed', async () => {
    sandbox.faults.add({ kind: 'stuck_cursor', operation: 'thread' })
    const ended = await runHere(['sync', id], env)
    expect(ended.code).toBe(1)
    expect(ended.err).toMatch(new RegExp(`^thread of submission ${id} could not be read: .*same cursor.*\\n$`))
  })

  it('trap 08: sync reads from the beginning: it finds what became visible behind the cursor', async () => {
    const laneId = sandbox.addLane(ACCOUNT, id, { hidden: true }).rail.submission_market_id
    const late = sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', lane_id: laneId })
    const later = Array.from({ length: 110 }, () => ({ type: 'status_changed' as const }))
    sandbox.addEvents(ACCOUNT, id, later)
    const found = () => db.read.sql.selectFrom('market_events').select('event_id').where('event_id', '=', late.id).execute()
    expect((await runHere(['sync', id], env)).code).toBe(0)
    expect(await found()).toHaveLength(0)
    sandbox.revealLane(ACCOUNT, id, laneId)
    expect((await runHere(['sync', id], env)).code).toBe(0)
    expect(await found()).toHaveLength(1)
  })

  it('trap 48: sync asks once for a submission that is "not found", and marks nothing for it', async () => {
    expect((await runHere(['sync', id], env)).code).toBe(0)
    sandbox.world.removeSubmission(ACCOUNT, id)
    const ended = await runHere(['sync', id], env)
    expect(ended.code).toBe(1)
    expect(ended.err).toContain(`${id} could not be read: not found`)
    const row = await db.read.sql.selectFrom('submissions').select('unreachable_since').executeTakeFirstOrThrow()
    expect(row.unreachable_since).toBeNull()
  })

  it('trap 48: sync asks nothing more when many that were read before are not found', async () => {
    const others = Array.from({ length: 19 }, () => sandbox.addSubmission(ACCOUNT))
    expect((await runHere(['track', ...others], env)).code).toBe(0)
    expect((await runHere(['sync', '--all'], { ...env, UPSTREAM_RPS: '1000' })).code).toBe(0)
    for (const one of [id, ...others]) sandbox.world.removeSubmission(ACCOUNT, one)
    const before = sandbox.activity.requests.length
    const ended = await runHere(['sync', '--all'], { ...env, UPSTREAM_RPS: '1000' })
    expect(ended.code).toBe(1)
    expect(ended.err).toContain('account default is paused: many submissions are not found')
    expect(await findAccount(db.read, ACCOUNT)).toMatchObject({ state: 'paused' })
    // Without a stop, each would have three reads.
    expect(sandbox.activity.requests.length - before).toBeLessThan(40)
  })

  it('trap 43: sync sends nothing more when every read is rejected', async () => {
    const others = Array.from({ length: 9 }, () => sandbox.addSubmission(ACCOUNT))
    expect((await runHere(['track', ...others], env)).code).toBe(0)
    for (const operation of ['events', 'thread', 'requirements'] as const) sandbox.faults.add({ kind: 'status', status: 403, operation })
    const before = sandbox.activity.requests.length
    const ended = await runHere(['sync', '--all'], { ...env, UPSTREAM_RPS: '1000' })
    expect(ended.code).toBe(1)
    expect(ended.err).toContain('account default is suspended')
    expect((await findAccount(db.read, ACCOUNT))?.reason).toContain('rejects every read')
    // Without a stop, ten submissions would have three reads, three times each.
    expect(sandbox.activity.requests.length - before).toBeLessThan(60)
  })

  it('account resume lets a stopped account retry immediately, and list shows its state', async () => {
    await runHere(['sync', id], env)
    await stopAccount(db, ACCOUNT, 'suspended', 'the service rejects the credentials', 900_000)
    const stopped = await runHere(['sync', id], env)
    expect(stopped).toMatchObject({ code: 1 })
    expect(stopped.err).toContain('account default is stopped')
    expect((await runHere(['account', 'list'], env)).out).toMatch(/^default +suspended/m)
    expect((await runHere(['status'], env)).out).toContain('• account default is suspended: the service rejects the credentials')
    const resumed = await runHere(['account', 'resume', ACCOUNT], env)
    expect(resumed).toMatchObject({ code: 0, err: '' })
    expect(resumed.out).toContain('The service is asked again when `submission-mirror serve` runs')
    expect((await runHere(['sync', id], env)).code).toBe(0)
    expect(await findAccount(db.read, ACCOUNT)).toMatchObject({ state: 'active' })
    expect((await runHere(['account', 'resume', ACCOUNT], env)).out).toContain('is already active')
    expect(await runHere(['account', 'resume', 'acme'], env)).toMatchObject({
      code: 2,
      err: 'unknown account "acme"; known: default\n',
    })
  })
})
