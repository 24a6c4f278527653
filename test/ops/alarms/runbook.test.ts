import { mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import type { AlarmMessage } from '../../../src/ops/alarms/message.ts'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { runHere } from '../../app/run.ts'
import { hook } from '../../config/support.ts'
import { databaseEnv, type Environment, type Served, untilServed } from '../../e2e/serve.ts'
import { serveHere } from '../../e2e/serve-here.ts'
import { postSigned } from '../../e2e/signed.ts'
import { type Receiver, startReceiver, takesAll } from '../../push/receiver.ts'
import { onSqlite, runSql, sqliteDatabase } from '../../tools/databases.ts'
import { poison } from '../../tools/poison.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { writeSettings } from '../../tools/settings-file.ts'

const ACCOUNT = 'default'
const LATER_MS = 6 * 60_000
const DAY_MS = 86_400_000
const POISONED = '0000000d-0000-4000-8000-0000000000d1'
const MESSAGE = { body_text: 'The quote is here.' }
const WRONG = { secret: hook(7), key: 'bas_revoked', limit: '1KiB' }
const FIRING = [
  'account_stopped',
  'deliveries_rejected',
  'delivery_too_large',
  'destination_stopped',
  'inbox_dead',
  'push_dead',
  'push_unknown',
  'push_unmapped',
  'reconcile_findings',
  'record_conflict',
]

interface Stage {
  readonly sandbox: Sandbox
  readonly db: Db
  readonly env: Environment
  readonly ams: Receiver
  readonly notes: Receiver
  readonly archive: Receiver
  sentNames(type: AlarmMessage['type']): string[]
  messages(): readonly AlarmMessage[]
  configure(over?: Partial<typeof WRONG>): void
  command(...args: string[]): Promise<string>
  serve(): Promise<Served>
}

async function openStage(): Promise<Stage> {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const opened = await closedAtEnd(sqliteDatabase.open())
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-runbook-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const oncall = await startReceiver()
  const ams = await startReceiver((_, response) => response.writeHead(400).end())
  const notes = await startReceiver((_, response) => response.destroy())
  const archive = await startReceiver((_, response) => response.writeHead(410).end())
  const { credentials, webhookSecret } = sandbox.account(ACCOUNT)
  const file = join(folder, 'mirror.yaml')
  const env = { ...databaseEnv(opened.config), CONFIG_FILE: file, HOOK: hook(6) }
  const messages = () => oncall.arrived.map(({ body }) => JSON.parse(body) as AlarmMessage)
  return {
    sandbox,
    db: opened.db,
    env,
    ams,
    notes,
    archive,
    messages,
    sentNames: (type) =>
      messages()
        .filter((message) => message.type === type)
        .map(({ data }) => data.name)
        .sort(),
    configure({ secret = webhookSecret, key = credentials[0]?.clientSecret ?? '', limit = '4MiB' } = {}) {
      const hooked = { kind: 'webhook', secret: '${HOOK}', allow_private: true }
      const common = { allow_private: true, entities: ['thread_messages'], schedule: ['100ms', '100ms'] }
      const request = { url: JSON.stringify(notes.url), body: '{"client": mapping.client}' }
      const account = { name: ACCOUNT, default: true, base_url: sandbox.baseUrl, webhook_secrets: [secret] }
      writeSettings(file, {
        upstream: { rps: 1_000 },
        accounts: [{ ...account, client_credentials: [{ id: credentials[0]?.clientId, secret: key }] }],
        destinations: [
          { name: 'ams', url: ams.url, ...hooked, ...common },
          { name: 'notes', kind: 'http', mapping: 'required', request, ...common },
          { name: 'archive', url: archive.url, ...hooked },
        ],
        operators: [{ name: 'oncall', url: oncall.url, ...hooked }],
        receiver: { body_limit: limit },
      })
    },
    async command(...args) {
      const { code, out, err } = await runHere(args, env)
      expect(code, `${args.join(' ')}: ${err}`).toBe(0)
      return out
    },
    async serve() {
      const serve = await serveHere(env)
      onTestFinished(async () => void (await serve.stop()))
      sandbox.account(ACCOUNT).target = `${serve.receiver}/webhooks`
      return serve
    },
  }
}

async function numbersOf({ command }: Stage, destination: string, state: string): Promise<string[]> {
  const listed = JSON.parse(await command('outbox', 'list', '--destination', destination, '--state', state, '--json')) as {
    items: { outbox_id: number }[]
  }
  return listed.items.map(({ outbox_id }) => String(outbox_id))
}

async function goWrong(stage: Stage): Promise<{ unmapped: string; cure: () => Promise<void> }> {
  const { sandbox, db, command, archive } = stage
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
  const ready = () => command('inbox', 'list', '--state', 'ready', '--json')
  await untilServed(serve, 'the poisoned delivery was tried', async () => (await ready()).includes('poisoned row'))
  const now = timeFromMs(Date.now())
  await runSql(db, sql`update sync_inbox set attempts = 9, available_at = ${now} where state = 'ready'`)
  await untilServed(
    serve,
    'all is wrong',
    async () =>
      archive.arrived.length > 0 &&
      (await numbersOf(stage, 'ams', 'dead')).length >= 3 &&
      (await numbersOf(stage, 'notes', 'unknown')).length >= 2 &&
      (await command('inbox', 'list', '--state', 'dead')).includes('msg_poisoned') &&
      (await command('destination', 'list')).includes('suspended'),
  )
  sandbox.world.submission(ACCOUNT, mapped).events.amend(event.id, { status: 'declined' })
  await command('sync', mapped)
  expect((await runHere(['reconcile'], stage.env)).code).toBe(3)
  await serve.stop()
  const dayAgo = timeFromMs(Date.now() - DAY_MS - LATER_MS)
  const late = sql`update sync_outbox set queued_at = ${dayAgo} where submission_id = ${unmapped} and destination = 'notes'`
  await runSql(db, late)
  const cure = async () => {
    await heal()
    sandbox.addEvent(ACCOUNT, mapped, poisoned)
  }
  return { unmapped, cure }
}

/** Problems from wrong settings: secret and key are changed in the portal only, and the limit is too low. */
async function refuse({ sandbox }: Stage, wrong: Served): Promise<void> {
  const { webhookSecret } = sandbox.account(ACCOUNT)
  const statusOf = async (body: string) => (await postSigned(`${wrong.receiver}/webhooks`, webhookSecret, body)).status
  for (let n = 0; n < 3; n++) expect(await statusOf('{"type":"submission.events"}')).toBe(401)
  expect(await statusOf(JSON.stringify({ text: 'x'.repeat(2_000) }))).toBe(413)
}

async function expectAlarms({ command, messages }: Stage, wrong: Served): Promise<void> {
  expect(messages().find(({ data }) => data.name === 'inbox_dead')).toMatchObject({
    type: 'alarm.firing',
    data: { severity: 'warning', account: 'default', destination: null, runbook: 'docker/warnings-service.md#a-delivery-is-dead' },
  })
  const rows = () =>
    command('alarm', 'list', '--json').then((out) => (JSON.parse(out) as { items: { name: string; notified_at: string | null }[] }).items)
  await untilServed(wrong, 'each is recorded as notified', async () => (await rows()).every(({ notified_at }) => notified_at !== null))
  const list = await command('alarm', 'list')
  expect(list).toMatch(/^alarm +severity +account +destination +state +since +notified +what happened$/m)
  expect(list).toMatch(
    /^inbox_dead +warning +default +- +firing +\d+ \w+ ago +\d+ \w+ ago +1 delivery of account default is dead-lettered/m,
  )
  expect(await (await fetch(`${wrong.ops}/metrics`)).text()).toMatch(
    /^submission_mirror_alert_messages_total\{operator="oncall",outcome="sent"\} [1-9]/m,
  )
}

async function fix(stage: Stage, unmapped: string, cure: () => Promise<void>): Promise<Served> {
  const { ams, notes, archive, command, db } = stage
  expect(await command('inbox', 'list', '--rejected')).toContain('wrong_signature')
  stage.configure()
  await command('inbox', 'replay', '--rejected')
  expect(await command('account', 'list')).toMatch(/suspended.*rejects the credentials/)
  await command('account', 'resume', ACCOUNT)
  expect(await command('destination', 'list')).toContain('suspended')
  for (const fixed of [ams, archive]) fixed.behave(takesAll)
  expect(await command('destination', 'test', 'archive')).toContain('accepted a signed message')
  await command('destination', 'resume', 'archive')
  const serve = await stage.serve()
  await untilServed(serve, 'the archive gets what it missed', () => archive.taken.length > 0)
  await untilServed(serve, 'the account is read', async () => (await command('account', 'list')).includes('active'))

  await cure()
  expect(await command('inbox', 'list', '--state', 'dead')).toContain('poisoned row')
  await command('inbox', 'replay', '--state', 'dead')
  const ready = async () => JSON.parse(await command('inbox', 'list', '--state', 'ready', '--json')) as { items: object[] }
  await untilServed(serve, 'it is applied', async () => (await ready()).items.length === 0)
  const [dead = '', ...others] = await numbersOf(stage, 'ams', 'dead')
  expect(await command('outbox', 'show', dead)).toMatch(/^status +400$/m)
  await command('outbox', 'skip', dead)
  await command('outbox', 'retry', '--destination', 'ams', '--state', 'dead')
  await untilServed(serve, 'the AMS gets the others', () => ams.taken.length >= others.length)
  notes.behave((_, response) => response.writeHead(200).end())
  const [arrived = '', ...lost] = await numbersOf(stage, 'notes', 'unknown')
  expect(await command('outbox', 'show', arrived)).toMatch(/^message_id +[0-9a-f-]{36}$/m)
  expect(await command('destination', 'mappings', 'notes')).toContain('40312')
  await command('outbox', 'skip', arrived)
  for (const number of lost) await command('outbox', 'retry', number)
  const skipped = await command('outbox', 'skip', '--destination', 'notes', '--submission', unmapped, '--state', 'ready')
  expect(skipped).toBe('1 change will be skipped\n')
  await command('reconcile', '--account', ACCOUNT)
  const dayAgo = timeFromMs(Date.now() - DAY_MS)
  await runSql(db, sql`update sync_conflicts set seen_at = ${dayAgo}`)
  return serve
}

/** Follows the runbook's steps: an installation with many problems alerts its operator, is fixed, and reports that. */
it('the instructions of the runbook resolve the alarms', async () => {
  const stage = await openStage()
  stage.configure()
  const { unmapped, cure } = await goWrong(stage)
  stage.configure(WRONG)
  const wrong = await stage.serve()
  await refuse(stage, wrong)
  await untilServed(wrong, 'the operator gets all alarms', () => FIRING.every((name) => stage.sentNames('alarm.firing').includes(name)))
  expect(stage.sentNames('alarm.firing')).toEqual(FIRING)
  await expectAlarms(stage, wrong)
  await wrong.stop()

  const fixed = await fix(stage, unmapped, cure)
  // An alarm ends after five minutes. A delivery was too large within the last day.
  const before = timeFromMs(Date.now() - LATER_MS)
  const over = FIRING.filter((name) => name !== 'delivery_too_large')
  await untilServed(fixed, 'the operator gets the end of each alarm', async () => {
    await stage.db.write('test', (tx) =>
      tx.sql.updateTable('alarms').set({ resolved_at: before }).where('state', '=', 'resolved').execute(),
    )
    return over.every((name) => stage.sentNames('alarm.resolved').includes(name))
  })
  expect(stage.sentNames('alarm.resolved')).toEqual(over)
  expect(await stage.command('alarm', 'list')).toMatch(/^alarm .*\ndelivery_too_large .*\n$/m)
})

describe.each(onSqlite)('the statements of the runbook on $name', (database) => {
  it('are understood', async () => {
    const pages = ['runbook', 'warnings-data', 'warnings-service'].map((page) => new URL(`../../../docker/${page}.md`, import.meta.url))
    const runbook = (await Promise.all(pages.map((page) => readFile(page, 'utf8')))).join('\n')
    const every = [...runbook.matchAll(/(?:^ *|[`"])(select [^`";…]+)[`";]/gm)].map(([, statement = '']) => statement)
    // A statement without a table is for the Postgres server, not for the mirror.
    const statements = every.filter((statement) => / from /.test(statement))
    expect(statements.length).toBeGreaterThan(5)
    const opened = await closedAtEnd(database.open())
    for (const statement of statements) expect(await opened.db.read.all(sql.raw(statement)), statement).toEqual([])
  })
})
