import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { hook, withSettings } from '../config/support.ts'
import { logFaults, untilAgreed } from '../e2e/agreement.ts'
import { databaseEnv, type Environment, type ServeProcess, startServe } from '../e2e/serve.ts'
import { type Receiver, startReceiver } from '../push/receiver.ts'
import { postgresDatabase } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'

const ACCOUNT = 'default'
const ROUNDS = 2

interface Stage {
  readonly sandbox: Sandbox
  readonly db: Db
  /** Takes a message again without harm, and one that must not get any twice. */
  readonly ams: Receiver
  readonly once: Receiver
  serve(): Promise<ServeProcess>
}

async function openStage(): Promise<Stage> {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const opened = await closedAtEnd(postgresDatabase.open())
  const [ams, once] = [await startReceiver(), await startReceiver()]
  const { credentials, webhookSecret } = sandbox.account(ACCOUNT)
  const settings = {
    upstream: { rps: 1_000 },
    poll: { active: '1s', quiet: '1s' },
    accounts: [
      {
        name: ACCOUNT,
        default: true,
        base_url: sandbox.baseUrl,
        webhook_secrets: [webhookSecret],
        client_credentials: credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret })),
      },
    ],
    destinations: [
      { name: 'ams', kind: 'webhook', url: ams.url, secret: '${HOOK}', allow_private: true, backfill: true },
      {
        name: 'once',
        kind: 'http',
        idempotent: false,
        allow_private: true,
        entities: ['thread_messages'],
        backfill: true,
        request: { url: JSON.stringify(once.url), body: '{"seq": seq}' },
      },
    ],
  }
  const env = { ...databaseEnv(opened.config), ...withSettings(settings, { HOOK: hook(6) }) } as Environment
  return {
    sandbox,
    db: opened.db,
    ams,
    once,
    async serve() {
      const serve = await startServe(env)
      onTestFinished(() => serve.kill())
      return serve
    },
  }
}

function addWork({ sandbox }: Stage): void {
  const id = sandbox.addSubmission(ACCOUNT)
  const { rail } = sandbox.addLane(ACCOUNT, id)
  const lane_id = rail.submission_market_id
  for (let n = 0; n < 5; n++) {
    sandbox.addEvents(ACCOUNT, id, [
      { type: 'quote_received', lane_id },
      { type: 'status_changed', lane_id },
    ])
    sandbox.addMessage(ACCOUNT, id, { body_text: `news ${n}` })
  }
}

/** All leases end, and a process that does not beat counts as dead: what minutes bring, without waiting for them. */
async function letLeasesEnd(db: Db): Promise<void> {
  const past = sql`clock_timestamp() - interval '1 minute'`
  await db.write('test', async (tx) => {
    const ends = [
      ['sync_inbox', 'available_at'],
      ['sync_reads', 'due_at'],
      ['sync_push_streams', 'due_at'],
      ['sync_alert_messages', 'due_at'],
      ['sync_reconcile', 'lease_until'],
      ['sync_upkeep', 'lease_until'],
      ['sync_alarm_watch', 'lease_until'],
    ] as const
    for (const [table, column] of ends) {
      await tx.run(
        sql`update ${sql.table(table)} set ${sql.ref(column)} = ${past} where lease_token is not null and ${sql.ref(column)} > ${past}`,
      )
    }
    await tx.run(sql`update sync_processes set seen_at = ${past}`)
  })
}

/** Ends the sessions of the paused process, as the server's limit for idle transactions and the network would. */
async function endSessions(db: Db, pids: readonly number[]): Promise<void> {
  for (const pid of pids) await db.read.run(sql`select pg_terminate_backend(${pid}::int)`)
}

async function sessions(db: Db): Promise<number[]> {
  const rows = await db.read.all(sql<{ pid: number }>`
    select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`)
  return rows.map(({ pid }) => Number(pid))
}

async function isPushed(db: Db): Promise<boolean> {
  const row = await db.read.one(sql<{ n: number }>`
    select (select count(*) from sync_outbox where state = 'ready')
      + (select count(*) from sync_destinations d, mirror_info i where d.cursor < i.last_seq) as n`)
  return Number(row?.n) === 0
}

/** How many changes wait for a person, because nobody saw their attempt end. */
async function heldForPersons(db: Db): Promise<number> {
  return (await db.read.sql.selectFrom('sync_outbox').select('seq').where('state', '=', 'unknown').execute()).length
}

async function stateOfRuns(db: Db): Promise<string[]> {
  return (await db.read.sql.selectFrom('reconcile_runs').select('state').execute()).map(({ state }) => state)
}

it('a worker, a pusher and a run that are paused beyond every lease lose nothing, and do nothing again that must not be done twice', async () => {
  const stage = await openStage()
  const { sandbox, db, ams, once } = stage
  const ours = await sessions(db)
  let paused = await stage.serve()
  sandbox.account(ACCOUNT).target = `${paused.receiver}/webhooks`
  for (let round = 0; round < ROUNDS; round++) {
    // An attempt of each kind is in flight: its answer waits for the end of the pause.
    const answers: (() => void)[] = []
    const held = new Set<Receiver>()
    let isHeld = false
    for (const receiver of [ams, once]) {
      receiver.behave((_, response, take) => {
        const answer = receiver === ams ? take : () => void response.writeHead(204).end()
        if (isHeld) answer()
        else {
          answers.push(answer)
          held.add(receiver)
        }
      })
    }
    for (let n = 0; n < 4; n++) addWork(stage)
    await db.write('test', (tx) =>
      tx.run(sql`insert into reconcile_runs (run_id, account, requested_by, options, state, requested_at, updated_at, submissions_total, submissions_done,
            rows_compared, missing, different, absent, unreadable, undelivered, lost, repaired, known, moved)
          values (${`run ${round}`}, ${ACCOUNT}, 'command', '{}', 'requested', clock_timestamp(), clock_timestamp(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`),
    )
    await until('an attempt of each is in flight', () => held.size === 2)
    paused.process.kill('SIGSTOP')
    await endSessions(
      db,
      (await sessions(db)).filter((pid) => !ours.includes(pid)),
    )
    await letLeasesEnd(db)
    isHeld = true
    const heir = await stage.serve()
    sandbox.account(ACCOUNT).target = `${heir.receiver}/webhooks`
    await until('the other process has taken over the attempt that must not be repeated', async () => (await heldForPersons(db)) > round)
    for (const answer of answers) answer()
    paused.process.kill('SIGCONT')
    addWork(stage)
    await until('both work', async () => (await db.read.sql.selectFrom('sync_processes').select('process_id').execute()).length > 1)
    await paused.stop()
    paused = heir
  }
  expect(await untilAgreed(db, sandbox)).toEqual([])
  expect(await logFaults(db)).toEqual([])
  await until('all is pushed', () => isPushed(db))
  await until('each run has ended once', async () => (await stateOfRuns(db)).every((state) => !['requested', 'running'].includes(state)))
  expect((await stateOfRuns(db)).length).toBe(ROUNDS)
  const rows = await db.read.all(sql<{ seq: number; destination: string; state: string }>`select seq, destination, state from sync_outbox`)
  const of = (name: string, ...states: string[]) =>
    rows.filter(({ destination, state }) => destination === name && states.includes(state)).map(({ seq }) => Number(seq))
  const seqs = new Map<string, Set<number>>()
  for (const { id, data } of ams.taken) seqs.set(id, (seqs.get(id) ?? new Set()).add(data.seq))
  expect(
    [...seqs.values()].every((each) => each.size === 1),
    'an id identifies one change',
  ).toBe(true)
  expect(new Set(ams.taken.map(({ data }) => data.seq))).toEqual(new Set(of('ams', 'delivered')))
  expect(of('ams', 'ready', 'dead', 'unknown')).toEqual([])
  const sent = once.arrived.map(({ body }) => (JSON.parse(body) as { seq: number }).seq)
  expect(sent.length, 'nothing is sent twice that must not be').toBe(new Set(sent).size)
  expect(new Set(sent)).toEqual(new Set(of('once', 'delivered', 'unknown')))
  expect(of('once', 'ready', 'dead')).toEqual([])
  // What was in flight when its process was paused is held for a person.
  expect(of('once', 'unknown').length).toBeGreaterThanOrEqual(ROUNDS)
  await paused.stop()
})
