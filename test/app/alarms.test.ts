import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import type { AlarmMessage } from '../../src/ops/alarms/message.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { hook } from '../config/support.ts'
import { waitFor } from '../e2e/agreement.ts'
import { databaseEnv, type Environment, startServe } from '../e2e/serve.ts'
import { MAIL_PASSWORD, MAIL_USER, startMailServer } from '../ops/alarms/mail-server.ts'
import { selfSigned } from '../push/certificate.ts'
import { startReceiver } from '../push/receiver.ts'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'
import { json, run, runHere } from './run.ts'

const WAIT_MS = 30_000

interface Scene {
  readonly opened: OpenedDatabase
  readonly env: Environment
  /** The messages that the operator got. */
  messages(): readonly AlarmMessage[]
  refuseAll(): void
}

/** A database, a service, and settings with one account and an operator. */
async function scene(database: (typeof testDatabases)[number], operators?: readonly object[]): Promise<Scene> {
  const sandbox = await startSandbox({ submissions: 0, autoStart: false })
  onTestFinished(() => sandbox.close())
  const opened = await database.open()
  onTestFinished(() => opened.close())
  const receiver = await startReceiver()
  const { credentials, webhookSecret } = sandbox.account('default')
  const account = {
    ...{ name: 'default', default: true, base_url: sandbox.baseUrl, webhook_secrets: [webhookSecret] },
    client_credentials: credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret })),
  }
  const oncall = { name: 'oncall', kind: 'webhook', url: receiver.url, secret: '${ONCALL_SECRET}', allow_private: true }
  const path = join(tmpdir(), `submission-mirror-alarms-${process.pid}-${Math.random().toString(36).slice(2)}.json`)
  writeFileSync(path, JSON.stringify({ accounts: [account], operators: operators ?? [oncall] }))
  onTestFinished(() => rmSync(path))
  return {
    opened,
    env: { ...databaseEnv(opened.config), CONFIG_FILE: path, ONCALL_SECRET: hook(6) },
    messages: () => receiver.arrived.map(({ body }) => JSON.parse(body) as AlarmMessage),
    refuseAll: () => receiver.behave((_, response) => response.writeHead(401).end()),
  }
}

describe.each(testDatabases)('alarms of a served mirror on $name', (database) => {
  it('reach the operator, are listed, and are ended by what the runbook says', { timeout: 90_000 }, async () => {
    const { opened, env, messages } = await scene(database)
    const { db } = opened
    // A delivery that nobody could apply.
    const receivedAt = timeFromMs(Date.now())
    const delivery = { account: 'default', deliveryId: 'msg_1', receivedAt, headers: { 'svix-id': 'msg_1' }, secret: 1 }
    await new InboxAppender(db).append([{ ...delivery, body: Buffer.from('{"type":"something.new"}') }])
    await db.write('test', (tx) => tx.sql.updateTable('sync_inbox').set({ state: 'dead', error: 'the disk is full' }).execute())

    const serve = await startServe(env)
    onTestFinished(async () => void (await serve.stop()))
    expect(await waitFor(() => messages().length > 0, WAIT_MS)).toBe(true)
    // It arrives before that is written down.
    const listed = async () => json<{ notified_at: string | null }[]>(await runHere(['alarm', 'list', '--json'], env))
    expect(await waitFor(async () => (await listed())[0]?.notified_at !== null, WAIT_MS)).toBe(true)
    expect(messages()).toMatchObject([
      {
        type: 'alarm.firing',
        data: {
          name: 'inbox_dead',
          severity: 'warning',
          account: 'default',
          destination: null,
          runbook: 'docker/runbook.md#a-delivery-is-dead',
        },
      },
    ])
    expect(await (await fetch(`${serve.ops}/metrics`)).text()).toContain(
      'submission_mirror_operator_messages_total{operator="oncall",outcome="sent"} 1',
    )
    const list = await runHere(['alarm', 'list'], env)
    expect([list.code, list.err]).toEqual([0, ''])
    expect(list.out).toMatch(
      /^alarm +severity +account +state +for +told ago +what\ninbox_dead +warning +default +firing +\d+ s +\d+ s +1 delivery/m,
    )
    expect(list.out).toContain(' 1 delivery of account default could not be applied and was given up; `submission-mirror inbox list')
    const rows = json<{ name: string; state: string; notified_at: string | null }[]>(await runHere(['alarm', 'list', '--json'], env))
    expect(rows).toMatchObject([{ name: 'inbox_dead', state: 'firing', notified_at: expect.any(String) }])

    // The steps of the runbook.
    expect((await runHere(['inbox', 'list', '--state', 'dead'], env)).out).toContain('msg_1')
    expect((await runHere(['inbox', 'replay', '--state', 'dead'], env)).code).toBe(0)
    const dead = () => db.read.sql.selectFrom('sync_inbox').select('state').where('delivery_id', '=', 'msg_1').executeTakeFirst()
    expect(await waitFor(async () => (await dead())?.state === 'aside', WAIT_MS)).toBe(true)
  })

  it('can be tried out, and say what is wrong', async () => {
    const { env, messages, refuseAll } = await scene(database)
    expect(await runHere(['alarm', 'list'], env)).toEqual({ code: 0, out: 'nothing fires\n', err: '' })
    expect(await runHere(['alarm', 'test'], env)).toEqual({ code: 0, out: 'operator oncall: it took a test message\n', err: '' })
    expect(messages()).toMatchObject([{ type: 'alarm.test', data: { text: expect.stringContaining('nothing is wrong') } }])
    refuseAll()
    const refused = 'it answered 401: compare the signing secret on both sides'
    expect(await runHere(['alarm', 'test', 'oncall'], env)).toEqual({ code: 1, out: `operator oncall: ${refused}\n`, err: '' })
    expect(json(await runHere(['alarm', 'test', '--json'], env))).toEqual([{ operator: 'oncall', ok: false, text: refused }])
    expect(await runHere(['alarm', 'test', 'nobody'], env)).toEqual({
      ...{ code: 2, out: '' },
      err: 'there is no operator "nobody" in the settings; there is oncall\n',
    })
    const none = await scene(database, [])
    expect((await runHere(['alarm', 'test'], none.env)).err).toBe(
      'there are no operators in the settings; list them in CONFIG_FILE under `operators`\n',
    )
  })

  it('go out by e-mail as the settings say, through a server whose certificate is known', async () => {
    const server = await startMailServer()
    const mail = {
      name: 'mail',
      kind: 'email',
      host: '127.0.0.1',
      port: server.port,
      from: 'mirror@agency.example',
      to: 'ops@agency.example',
    }
    const { env } = await scene(database, [{ ...mail, username: MAIL_USER, password: '${SMTP_PASSWORD}' }])
    const ca = join(tmpdir(), `submission-mirror-ca-${process.pid}.pem`)
    writeFileSync(ca, selfSigned.cert)
    onTestFinished(() => rmSync(ca))
    const withPassword = { ...env, SMTP_PASSWORD: MAIL_PASSWORD }
    expect(await run(['alarm', 'test'], { ...withPassword, NODE_EXTRA_CA_CERTS: ca })).toEqual({
      ...{ code: 0, err: '' },
      out: 'operator mail: it took a test message\n',
    })
    expect(server.taken).toMatchObject([{ to: ['ops@agency.example'], user: MAIL_USER, secure: true }])
    expect(server.taken[0]?.source).toContain('Subject: [submission-mirror] test: alarms reach you')
    const unknown = await run(['alarm', 'test'], withPassword)
    expect(unknown.code).toBe(1)
    expect(unknown.out).toContain('name its file in NODE_EXTRA_CA_CERTS')
  })
})
