import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { listAlarms } from '../../../src/store/operators/alarms.ts'
import { runHere } from '../../app/run.ts'
import { hook, withFile } from '../../config/support.ts'
import { waitFor } from '../../e2e/agreement.ts'
import { openQuietWorld } from '../../e2e/quiet-world.ts'
import { databaseEnv, type Environment, type ServeProcess, startServe } from '../../e2e/serve.ts'
import { type Receiver, startReceiver, takesAll } from '../../push/receiver.ts'
import { testDatabases } from '../../tools/databases.ts'
import { poison } from '../../tools/poison.ts'

const ACCOUNT = 'default'
const LOOK_MS = 60_000
const LATER_MS = 6 * 60_000
const DAY_MS = 86_400_000
const POISONED = '0000000d-0000-4000-8000-0000000000d1'
const MESSAGE = { body_text: 'The quote is here.' }

interface Stage {
  readonly sandbox: Sandbox
  readonly db: Db
  readonly env: Environment
  readonly ams: Receiver
  readonly notes: Receiver
  /** Runs a command that must end well. @returns what it wrote. */
  command(...args: string[]): Promise<string>
  serve(): Promise<ServeProcess>
}

async function openStage(): Promise<Stage> {
  const { sandbox, opened } = await openQuietWorld()
  const ams = await startReceiver((_, response) => response.writeHead(400).end())
  const notes = await startReceiver((_, response) => response.destroy())
  const { credentials, webhookSecret } = sandbox.account(ACCOUNT)
  const account = { name: ACCOUNT, default: true, base_url: sandbox.baseUrl, webhook_secrets: [webhookSecret] }
  const common = { allow_private: true, entities: ['thread_messages'], schedule: ['100ms', '100ms'] }
  const request = { url: JSON.stringify(notes.url), body: '{"client": mapping.client}' }
  const settings = {
    upstream: { rps: 1_000 },
    accounts: [
      { ...account, client_credentials: credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret })) },
    ],
    destinations: [
      { name: 'ams', kind: 'webhook', url: ams.url, secret: '${HOOK}', ...common },
      { name: 'notes', kind: 'http', mapping: 'required', request, ...common },
    ],
  }
  const env = { ...databaseEnv(opened.config), HOOK: hook(6), ...withFile(JSON.stringify(settings)) } as Environment
  return {
    ...{ sandbox, db: opened.db, env, ams, notes },
    async command(...args) {
      const { code, out, err } = await runHere(args, env)
      expect(code, `${args.join(' ')}: ${err}`).toBe(0)
      return out
    },
    async serve() {
      const serve = await startServe(env)
      onTestFinished(async () => void (await serve.stop()))
      sandbox.setTarget(ACCOUNT, `${serve.receiver}/webhooks`)
      return serve
    },
  }
}

function firing(db: Db): Promise<string[]> {
  return listAlarms(db.read).then((rows) => rows.filter(({ state }) => state === 'firing').map(({ name }) => name))
}

/** The numbers of what a destination has in a state. */
async function numbersOf({ command }: Stage, destination: string, state: string): Promise<string[]> {
  const listed = JSON.parse(await command('outbox', 'list', '--destination', destination, '--state', state, '--json')) as {
    outbox_id: number
  }[]
  return listed.map(({ outbox_id }) => String(outbox_id))
}

/** Everything goes wrong that can within seconds. What takes hours or days is set back in the database by hand. */
async function goWrong(stage: Stage): Promise<{ unmapped: string; cure: () => Promise<void> }> {
  const { sandbox, db, command } = stage
  const serve = await stage.serve()
  const mapped = sandbox.addSubmission(ACCOUNT)
  const unmapped = sandbox.addSubmission(ACCOUNT)
  const event = sandbox.addEvent(ACCOUNT, mapped, { type: 'status_changed', status: 'in_progress' })
  await command('track', mapped, unmapped)
  await command('destination', 'map', 'notes', '--submission', mapped, '--client', '40312')
  for (const submission of [mapped, mapped, unmapped]) sandbox.addMessage(ACCOUNT, submission, MESSAGE)
  const heal = await poison(db, 'market_events', 'event_id', POISONED)
  const poisoned = { ...event, id: POISONED }
  sandbox.deliver(ACCOUNT, JSON.stringify({ type: 'submission.events', submission_id: mapped, events: [poisoned] }), { id: 'msg_poisoned' })
  const tried = () => command('inbox', 'list', '--state', 'ready', '--json').then((out) => out.includes('poisoned row'))
  expect(await waitFor(tried, LOOK_MS)).toBe(true)
  const now = timeFromMs(Date.now())
  await db.write('test', (tx) => sql`update sync_inbox set attempts = 9, available_at = ${now} where state = 'ready'`.execute(tx.sql))
  const gone = async () =>
    (await numbersOf(stage, 'ams', 'dead')).length >= 3 &&
    (await numbersOf(stage, 'notes', 'unknown')).length >= 2 &&
    (await command('inbox', 'list', '--state', 'dead')).includes('msg_poisoned')
  expect(await waitFor(gone, LOOK_MS)).toBe(true)
  sandbox.amendEvent(ACCOUNT, mapped, event.id, { status: 'declined' })
  await command('sync', mapped)
  // It repairs, and leaves what waits for a destination.
  expect((await runHere(['reconcile'], stage.env)).code).toBe(3)
  await serve.stop()
  const dayAgo = timeFromMs(Date.now() - DAY_MS - LATER_MS)
  await db.write('test', (tx) => sql`update sync_outbox set queued_at = ${dayAgo} where submission_id = ${unmapped}`.execute(tx.sql))
  const cure = async () => {
    await heal()
    // Of what the delivery told the feed shows the same.
    sandbox.addEvent(ACCOUNT, mapped, poisoned)
  }
  return { unmapped, cure }
}

/** What the sections of the runbook say, in their words. */
async function mend(stage: Stage, unmapped: string): Promise<void> {
  const { ams, notes, command, db } = stage
  expect(await command('inbox', 'list', '--state', 'dead')).toContain('poisoned row')
  await command('inbox', 'replay', '--state', 'dead')
  expect(await waitFor(async () => (await command('inbox', 'list', '--state', 'ready', '--json')) === '[]\n', LOOK_MS)).toBe(true)
  ams.behave(takesAll)
  const [dead = '', ...others] = await numbersOf(stage, 'ams', 'dead')
  expect(await command('outbox', 'show', dead)).toMatch(/^status +400$/m)
  await command('outbox', 'skip', dead)
  await command('outbox', 'retry', '--destination', 'ams', '--state', 'dead')
  expect(await waitFor(() => ams.taken.length >= others.length, LOOK_MS)).toBe(true)
  notes.behave((_, response) => response.writeHead(200).end())
  const [arrived = '', ...lost] = await numbersOf(stage, 'notes', 'unknown')
  expect(await command('outbox', 'show', arrived)).toMatch(/^message_id +[0-9a-f-]{36}$/m)
  expect(await command('destination', 'map', 'notes')).toContain('40312')
  await command('outbox', 'skip', arrived)
  for (const number of lost) await command('outbox', 'retry', number)
  const skipped = await command('outbox', 'skip', '--destination', 'notes', '--submission', unmapped, '--state', 'ready')
  expect(skipped).toBe('1 change will not be sent any more\n')
  await command('reconcile', '--account', ACCOUNT)
  // What contradicted itself did so within the last day, whatever was done since.
  const dayAgo = timeFromMs(Date.now() - DAY_MS)
  await db.write('test', (tx) => sql`update sync_conflicts set seen_at = ${dayAgo}`.execute(tx.sql))
}

it('the steps of the runbook end what they are about', { timeout: 240_000 }, async () => {
  const stage = await openStage()
  const { unmapped, cure } = await goWrong(stage)
  const wrong = await stage.serve()
  const expected = ['inbox_dead', 'push_dead', 'push_unknown', 'push_unmapped', 'reconcile_findings', 'record_conflict']
  expect(await waitFor(async () => (await firing(stage.db)).length >= expected.length, LOOK_MS)).toBe(true)
  expect(await firing(stage.db)).toEqual(expected)
  await cure()
  await mend(stage, unmapped)
  await wrong.stop()

  const before = timeFromMs(Date.now() - LATER_MS)
  await stage.db.write('test', (tx) => tx.sql.updateTable('alarms').set({ last_at: before }).execute())
  await stage.serve()
  await waitFor(async () => (await firing(stage.db)).length === 0, LOOK_MS)
  expect(await stage.command('alarm', 'list')).toBe('nothing fires\n')
})

describe.each(testDatabases)('the statements of the runbook on $name', (database) => {
  it('are understood', async () => {
    const runbook = await readFile(new URL('../../../docker/runbook.md', import.meta.url), 'utf8')
    const every = [...runbook.matchAll(/(?:^ *|`)(select [^`;…]+)[`;]/gm)].map(([, statement = '']) => statement)
    // One that reads no table is not for the mirror, but tells a server of Postgres to do something.
    const statements = every.filter((statement) => / from /.test(statement))
    expect(statements.length).toBeGreaterThan(5)
    const opened = await database.open()
    onTestFinished(() => opened.close())
    for (const statement of statements) expect((await sql.raw(statement).execute(opened.db.read.sql)).rows, statement).toEqual([])
  })
})
