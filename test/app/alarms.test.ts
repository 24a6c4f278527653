import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AlarmMessage } from '../../src/ops/alarms/message.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { hook, withSettings } from '../config/support.ts'
import { databaseEnv, type Environment } from '../e2e/serve.ts'
import { MAIL_PASSWORD, MAIL_USER, startMailServer } from '../ops/alarms/mail-server.ts'
import { selfSigned } from '../push/certificate.ts'
import { startReceiver } from '../push/receiver.ts'
import { onSqlite, type TestDatabase } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { json, run, runHere } from './run.ts'

interface Scene {
  readonly env: Environment
  messages(): readonly AlarmMessage[]
  refuseAll(): void
}

async function scene(database: TestDatabase, operators?: readonly object[]): Promise<Scene> {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const opened = await closedAtEnd(database.open())
  const receiver = await startReceiver()
  const { credentials, webhookSecret } = sandbox.account('default')
  const account = {
    name: 'default',
    default: true,
    base_url: sandbox.baseUrl,
    webhook_secrets: [webhookSecret],
    client_credentials: credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret })),
  }
  const oncall = { name: 'oncall', kind: 'webhook', url: receiver.url, secret: '${ONCALL_SECRET}', allow_private: true }
  const settings = withSettings({ accounts: [account], operators: operators ?? [oncall] }, { ONCALL_SECRET: hook(6) })
  return {
    env: { ...databaseEnv(opened.config), ...settings } as Environment,
    messages: () => receiver.arrived.map(({ body }) => JSON.parse(body) as AlarmMessage),
    refuseAll: () => receiver.behave((_, response) => response.writeHead(401).end()),
  }
}

describe.each(onSqlite)('alarms of a mirror on $name', (database) => {
  it('can be tested, and report what is wrong', async () => {
    const { env, messages, refuseAll } = await scene(database)
    expect(await runHere(['alarm', 'list'], env)).toEqual({ code: 0, out: 'No active alarms.\n', err: '' })
    expect(await runHere(['alarm', 'test'], env)).toEqual({ code: 0, out: 'oncall: accepted a test message\n', err: '' })
    expect(messages()).toMatchObject([{ type: 'alarm.test', data: { text: expect.stringContaining('nothing is wrong') } }])
    refuseAll()
    const refused = 'the recipient answered 401; check that both sides use the same signing secret'
    expect(await runHere(['alarm', 'test', 'oncall'], env)).toEqual({ code: 1, out: `oncall: ${refused}\n`, err: '' })
    expect(json(await runHere(['alarm', 'test', '--json'], env))).toMatchObject({
      items: [{ operator: 'oncall', ok: false, text: refused }],
    })
    expect(await runHere(['alarm', 'test', 'nobody'], env)).toEqual({
      code: 2,
      out: '',
      err: 'the settings have no alert recipient "nobody"; known: oncall\n',
    })
    // Also without a database, which may be the problem.
    const away = { ...env, DATABASE_URL: `sqlite:${join(tmpdir(), 'submission-mirror-none', 'mirror.db')}` }
    expect(await runHere(['alarm', 'test'], away)).toEqual({ code: 1, out: `oncall: ${refused}\n`, err: '' })
    const none = await scene(database, [])
    expect((await runHere(['alarm', 'test'], none.env)).err).toBe(
      'the settings have no alert recipients. List them in CONFIG_FILE under `operators`\n',
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
      code: 0,
      err: '',
      out: 'mail: accepted a test message\n',
    })
    expect(server.taken).toMatchObject([{ to: ['ops@agency.example'], user: MAIL_USER, secure: true }])
    expect(server.taken[0]?.source).toContain('Subject: [submission-mirror] test: alarms reach you')
    const unknown = await run(['alarm', 'test'], withPassword)
    expect(unknown.code).toBe(1)
    expect(unknown.out).toContain('name its file in NODE_EXTRA_CA_CERTS')
  })
})
