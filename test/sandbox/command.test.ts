import { expect, onTestFinished, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { runSandbox, sandboxCommandSchema } from '../../src/sandbox/command.ts'
import { me, postForm, replyOf } from './support.ts'

interface Pair {
  client_id: string
  client_secret: string
}
interface Connection {
  base_url: string
  admin_url: string
  page_url: string
  accounts: (Pair & { name: string; brokerage: object; webhook_secret: string; producer_email: string; partner: Pair; read_only: Pair })[]
}

async function printed(options: object): Promise<string[]> {
  const lines: string[] = []
  const stop = new AbortController()
  const ready = Promise.withResolvers<void>()
  const log = createLog({ level: 'silent', pretty: false, secrets: [] })
  const print = (line: string) => {
    lines.push(line)
    ready.resolve()
  }
  const parsed = sandboxCommandSchema.parse({ port: '0', submissions: '1', ...options })
  const running = runSandbox(parsed, { log, clock: new ManualClock(), signal: stop.signal, print })
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  await Promise.race([ready.promise, running])
  return lines
}

test('--json prints one line with all connection data', async () => {
  const lines = await printed({ json: true, accounts: '2', paused: true })
  expect(lines).toHaveLength(1)
  const connection = JSON.parse(lines[0] ?? '') as Connection
  expect(Object.keys(connection)).toEqual(['base_url', 'admin_url', 'page_url', 'accounts'])
  expect(connection.accounts.map(({ name }) => name)).toEqual(['default', 'brokerage-2'])
  expect((await fetch(`${connection.admin_url}/stats`)).status).toBe(200)
  for (const account of connection.accounts) {
    expect(account).toMatchObject({
      brokerage: { id: expect.any(String), name: expect.any(String) },
      webhook_secret: expect.stringMatching(/^whsec_/),
    })
    for (const [pair, scope] of [
      [account, 'broker_mcp broker_submit'],
      [account.read_only, 'broker_mcp'],
      [account.partner, 'broker_mcp broker_submit'],
    ] as const) {
      const { client_id, client_secret } = pair
      const service = { baseUrl: connection.base_url }
      const { body } = await postForm(service, '/oauth/token', { grant_type: 'client_credentials', client_id, client_secret })
      expect((await me(service, body.access_token)).body).toMatchObject({
        kind: 'api_client',
        client_id,
        scope,
        brokerage: account.brokerage,
      })
    }
    const { body } = await replyOf(fetch(`${connection.admin_url}/users?account=${account.name}`))
    expect(body.users).toContainEqual(expect.objectContaining({ email: account.producer_email }))
  }
})

test('without --json it prints the settings that connect a mirror', async () => {
  const lines = await printed({ accounts: '2', target: 'http://127.0.0.1:9/hook', paused: true })
  expect(lines.filter((line) => line.startsWith('WEBHOOK_SECRETS='))).toHaveLength(2)
  const value = (name: string) => lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
  expect(value('BROKER_API_BASE_URL')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/)
  const key = { client_id: value('BROKER_API_CLIENT_ID'), client_secret: value('BROKER_API_CLIENT_SECRET') }
  const form = { grant_type: 'client_credentials', ...key }
  expect((await postForm({ baseUrl: value('BROKER_API_BASE_URL') }, '/oauth/token', form)).status).toBe(200)
})

test('--story none starts an empty world, and --clock step stops time', async () => {
  const [line] = await printed({ json: true, story: 'none', clock: 'step' })
  const { admin_url } = JSON.parse(line ?? '') as Connection
  const read = async (path: string, init?: RequestInit) => (await (await fetch(`${admin_url}${path}`, init)).json()) as object
  expect(await read('/submissions')).toMatchObject({ submission_ids: [] })
  expect(await read('/clock', { method: 'POST', body: '{"advance_s":86400}' })).toMatchObject({ clock: 'step' })
  expect(await read('/stats')).toMatchObject({ story: { total: 0, ended: true }, deliveries: { queued: 0 } })
})

test('the speed is that of the story, or of a fast clock', async () => {
  const read = async (options: object) => {
    const [line] = await printed({ json: true, paused: true, ...options })
    return (await (await fetch(`${(JSON.parse(line ?? '') as Connection).admin_url}/clock`)).json()) as { clock: string }
  }
  expect(await read({ clock: 'fast', speed: '100' })).toMatchObject({ clock: 'fast' })
  expect(await read({ speed: '100' })).toMatchObject({ clock: 'real' })
  expect(sandboxCommandSchema.safeParse({ clock: 'slow' }).success).toBe(false)
  expect(sandboxCommandSchema.safeParse({ story: 'some' }).success).toBe(false)
})

test('wrong options of the command are refused with a reason', () => {
  const wrong = [
    { port: '70000' },
    { speed: '0' },
    { faults: '[{"kind":"nothing"}]' },
    { faults: 'some' },
    { target: 'ftp://x' },
    { unknown: true },
  ]
  for (const options of wrong) expect(sandboxCommandSchema.safeParse(options).success).toBe(false)
  expect(sandboxCommandSchema.parse({ faults: '[{"kind":"lose","probability":0.5}]' }).faults).toEqual([{ kind: 'lose', probability: 0.5 }])
  expect(sandboxCommandSchema.parse({ faults: 'all' }).faults).toBe('all')
})
