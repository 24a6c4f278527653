import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { listDestinations } from '../../src/store/outbox/destinations.ts'
import { findAccount } from '../../src/store/reads/accounts.ts'
import { hook } from '../config/support.ts'
import { postSigned } from '../e2e/signed.ts'
import { startReceiver } from '../push/receiver.ts'
import { postgresDatabase, sqliteDatabase } from '../tools/databases.ts'
import { uuid, wireMessage } from '../tools/observations.ts'
import { until } from '../tools/until.ts'
import { ReloadStage, reload } from './reload-stage.ts'
import { type Ended, json, run, runHere } from './run.ts'
import { Traffic } from './traffic.ts'

/** Small enough for a poll soon. */
const poll = { active: '1s', quiet: '1s', max: '1s', dormant: '1s' }
const [TOKEN_A, TOKEN_B] = ['a-token-of-16-characters', 'b-token-of-16-characters']

it('a suspended account retries immediately with reloaded credentials', async () => {
  const stage = await ReloadStage.open(sqliteDatabase)
  const secret = stage.secret('client', stage.sandbox.account('default').credentials[0]?.clientSecret ?? '')
  const credential = (id = '') => ({ client_credentials: [{ id, secret }] })
  const first = stage.sandbox.account('default').credentials[0]?.clientId
  stage.settings({ accounts: [stage.account('default', { default: true, ...credential(first) })], poll })
  const serve = await stage.serve()
  const id = stage.sandbox.addSubmission('default')
  await run(['track', id], stage.env)
  await until('the brokerage is pinned', async () => (await findAccount(stage.db.read, 'default'))?.brokerage)

  stage.sandbox.access.revokeKey(stage.sandbox.account('default'), first ?? '')
  stage.sandbox.tokens.expireAll('default')
  await until('the account is suspended', async () => (await findAccount(stage.db.read, 'default'))?.state === 'suspended')
  const fresh = stage.sandbox.access.createKey(stage.sandbox.account('default'))
  stage.secret('client', fresh.clientSecret)
  stage.settings({ accounts: [stage.account('default', { default: true, ...credential(fresh.clientId) })], poll })
  expect(await reload(serve, 'applied')).toContain('account default: new client credentials')
  await until('the account is active', async () => (await findAccount(stage.db.read, 'default'))?.state === 'active')
  stage.sandbox.addEvent('default', id, { type: 'market_attached' }, { quiet: true })
  await until('its event is read', () => stage.db.read.sql.selectFrom('market_events').select('event_id').executeTakeFirst())
  expect(await serve.stop()).toBe(0)
  expect(serve.lines().join('\n')).not.toContain(fresh.clientSecret)
})

it('an account comes and goes: it is received and read for, and its rows stay', async () => {
  const stage = await ReloadStage.open(sqliteDatabase, ['acme', 'beta'])
  const acme = stage.account('acme', { default: true })
  stage.settings({ accounts: [acme], poll })
  const serve = await stage.serve()
  const post = async () =>
    (await postSigned(`${serve.receiver}/webhooks/beta`, stage.sandbox.account('beta').webhookSecret, message(1, submission))).status
  const submission = stage.sandbox.addSubmission('beta')
  expect(await post()).toBe(404)

  stage.settings({ accounts: [acme, stage.account('beta')], poll })
  expect(await reload(serve, 'applied')).toContain('account beta is new')
  expect(await post()).toBe(204)
  stage.sandbox.addEvent('beta', submission, { type: 'market_attached' }, { quiet: true })
  const events = () => stage.db.read.sql.selectFrom('market_events').select('account').execute()
  await until('its event is there', async () => (await events()).length > 0)

  stage.settings({ accounts: [acme], poll })
  expect(await reload(serve, 'applied')).toContain('account beta was removed')
  expect(await post()).toBe(404)
  expect(await events()).toEqual([{ account: 'beta' }])
  expect((await runHere(['account', 'list'], stage.env)).out).toMatch(/^beta +not configured/m)
  expect(await serve.stop()).toBe(0)
})

it('settings that need a restart are named and stay, and the others take effect', async () => {
  const stage = await ReloadStage.open(sqliteDatabase)
  const [old, fresh] = [hook(21), hook(22)]
  const settings = (webhookSecret: string, more: object = {}) => ({
    accounts: [stage.account('default', { default: true, webhook_secrets: [webhookSecret] })],
    ...more,
  })
  stage.settings(settings(old))
  // The option may precede the command.
  const serve = await stage.serve({}, 'set -- "$1" "$2" --no-color serve')
  stage.settings(
    settings(fresh, { receiver: { body_limit: '1KiB' }, migrate_on_start: false, log: { level: 'debug' }, ops: { mcp_actions: true } }),
  )
  const fixed = serve.says('need a restart of `serve`')
  const said = await reload(serve, 'applied')
  expect(said).toContain('account default: 1 webhook secret, changed')
  expect(said).toContain('log: changed')
  expect(said).toContain('ops: other settings changed')
  expect(await fixed).toContain('MIGRATE_ON_START, WEBHOOK_BODY_LIMIT changed in the settings but need a restart')
  const url = `${serve.receiver}/webhooks`
  const stored = serve.says('a delivery was stored')
  expect((await postSigned(url, fresh, JSON.stringify({ filler: 'x'.repeat(2_000) }))).status).toBe(204)
  await stored
  expect((await postSigned(url, old, '{}')).status).toBe(401)

  const stopped = serve.stop()
  serve.process.kill('SIGHUP')
  expect(await stopped).toBe(0)
})

it('who asks while it starts is heard when it has started', async () => {
  const stage = await ReloadStage.open(sqliteDatabase)
  const pipe = stage.pipe('hooks')
  stage.settings({ accounts: [stage.account('default', { default: true, webhook_secrets: pipe.reference })] })
  const starting = stage.serve({}, `echo $$ > ${stage.path('pid')}`)
  const first = await pipe.opened()
  process.kill(Number(readFileSync(stage.path('pid'), 'utf8')), 'SIGHUP')
  await first(hook(23))
  const serve = await starting
  const reloaded = serve.says('settings reloaded')
  const second = await pipe.opened()
  await second(hook(24))
  expect(await reloaded).toContain('account default: 1 webhook secret')
  expect(await serve.stop()).toBe(0)
})

it('the command reloads a running serve, and names what applied, what needs a restart, and what the environment sets', async () => {
  const stage = await ReloadStage.open(sqliteDatabase)
  const settings = (more: object = {}) => ({ accounts: [stage.account('default', { default: true })], ...more })
  stage.settings(settings())
  const env = { ...stage.env, DOCUMENT_HOSTS: 'one.example' }
  const command = (...args: string[]) => runHere(args, env)
  const alone = await command('reload')
  expect([alone.code, alone.err]).toEqual([2, 'no `serve` runs on this database. The next start reads the settings\n'])
  const serve = await stage.serve(env)
  stage.settings(settings({ ops: { mcp_actions: true }, receiver: { body_limit: '1KiB' } }))
  // A process stores its settings soon after its start.
  const before = await until('doctor reports settings that differ', () => differing(command))
  expect(before).toContain('OPS_MCP_ACTIONS')
  expect(before).toContain('WEBHOOK_BODY_LIMIT')
  const { code, out, err } = await command('reload')
  expect([code, err]).toEqual([0, ''])
  expect(out.replace(/\s+/g, ' ')).toMatch(
    /^Applied: ops: other settings changed Restart `\S.*` to apply: WEBHOOK_BODY_LIMIT Not re-read.*DOCUMENT_HOSTS/,
  )
  expect(await differing(command)).not.toContain('OPS_MCP_ACTIONS')
  stage.settings(settings({ ops: { mcp_actions: 'perhaps' } }))
  const refused = await command('reload')
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('ops.mcp_actions')])
  stage.settings(settings({ receiver: { body_limit: '1KiB' } }))
  expect((await differing(command)).replace('WEBHOOK_BODY_LIMIT', '')).toContain('OPS_MCP_ACTIONS')
  const listed = json<{ items: { who: string; action: string }[] }>(await command('action', 'list', '--json'))
  expect(listed.items.map(({ who, action }) => `${who} ${action}`)).toEqual(['command settings.reload'])
  const stored = await stage.db.read.sql.selectFrom('sync_process_settings').select('settings').execute()
  expect(JSON.stringify(stored)).not.toContain('one.example')
  expect(await serve.stop()).toBe(0)
})

async function differing(command: (...args: string[]) => Promise<Ended>): Promise<string> {
  const { items } = json<{ items: { about: string; ok: boolean; text: string }[] }>(await command('doctor', '--json'))
  return items.find(({ about, ok }) => about === 'settings' && !ok)?.text ?? ''
}

it('tokens of the admin routes are valid from the next request on, and a reload can be requested there', async () => {
  const stage = await ReloadStage.open(sqliteDatabase)
  const settings = (tokens: object[], more: object = {}) => ({
    accounts: [stage.account('default', { default: true })],
    ops: { tokens },
    ...more,
  })
  stage.settings(settings([{ name: 'ann', token: TOKEN_A }]))
  const serve = await stage.serve()
  const ask = async (method: 'GET' | 'POST', path: string, token: string) => {
    const answer = await fetch(`${serve.ops}/api/v1${path}`, { method, headers: { authorization: `Bearer ${token}` } })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  expect(await ask('POST', '/reload', TOKEN_A)).toEqual({
    status: 200,
    body: { applied: [], needs_restart: [], from_environment: expect.any(Array) },
  })

  const body = JSON.stringify({ token: TOKEN_A })
  const signedIn = await fetch(`${serve.ops}/api/v1/session`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const [cookie = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';')
  expect((await fetch(`${serve.ops}/api/v1/session`, { headers: { cookie } })).status).toBe(200)

  stage.settings(settings([{ name: 'ann', token: 'short' }], { poll: { active: 'never' } }))
  const refused = await ask('POST', '/reload', TOKEN_A)
  expect(refused.status).toBe(422)
  const problems = JSON.stringify(refused.body)
  for (const part of ['ops.tokens', 'poll.active']) expect(problems).toContain(part)
  expect((await ask('GET', '/status', TOKEN_A)).status).toBe(200)

  stage.settings(settings([{ name: 'bob', token: TOKEN_B }]))
  const reloaded = await ask('POST', '/reload', TOKEN_A)
  expect(reloaded).toEqual({
    status: 200,
    body: { applied: ['OPS_TOKENS: the tokens of bob are valid now'], needs_restart: [], from_environment: expect.any(Array) },
  })
  expect((await ask('GET', '/status', TOKEN_A)).status).toBe(401)
  expect((await ask('GET', '/status', TOKEN_B)).status).toBe(200)
  // The token returns, but not its session.
  stage.settings(settings([{ name: 'ann', token: TOKEN_A }]))
  await reload(serve, 'applied')
  expect((await ask('GET', '/status', TOKEN_A)).status).toBe(200)
  expect((await fetch(`${serve.ops}/api/v1/session`, { headers: { cookie } })).status).toBe(401)
  stage.settings(settings([]))
  await reload(serve, 'applied')
  expect((await fetch(`${serve.ops}/api/v1/status`, { headers: { authorization: `Bearer ${TOKEN_A}` } })).status).toBe(404)
  expect(await serve.stop()).toBe(0)
})

it('each role goes by what concerns it: one process takes by the new secret, another sends to the new destination', async () => {
  const stage = await ReloadStage.open(postgresDatabase)
  const ams = await startReceiver()
  const [old, fresh] = [hook(33), hook(34)]
  const settings = (webhookSecret: string, destinations: object[]) => ({
    accounts: [stage.account('default', { default: true, webhook_secrets: [webhookSecret] })],
    destinations,
  })
  stage.settings(settings(old, []))
  const [receiving, working] = await Promise.all([
    stage.serve({}, 'set -- "$@" --role receive'),
    stage.serve({}, 'set -- "$@" --role work'),
  ])
  const secret = stage.secret('push', hook(35))
  const destination = { name: 'ams', kind: 'webhook', url: ams.url, secret, allow_private: true, backfill: true }
  stage.settings(settings(fresh, [destination]))
  await reload(receiving, 'applied')
  await reload(working, 'applied')
  const url = `${receiving.receiver}/webhooks`
  const body = message(1, stage.sandbox.addSubmission('default'))
  expect((await postSigned(url, old, body)).status).toBe(401)
  expect((await postSigned(url, fresh, body)).status).toBe(204)
  await until('the AMS has the message', () => ams.taken.find(({ data }) => data.entity === 'thread_messages'))
  expect(await Promise.all([receiving.stop(), working.stop()])).toEqual([0, 0])
})

it('destinations change under traffic in two processes: each gets every change while it is in the settings, once, and none after', async () => {
  const stage = await ReloadStage.open(postgresDatabase)
  const [one, two, three] = [await startReceiver(), await startReceiver(), await startReceiver()]
  const secret = stage.secret('push', hook(31))
  const destination = (name: string, url: string, over: object = {}) => ({
    name,
    kind: 'webhook',
    url,
    secret,
    allow_private: true,
    entities: ['thread_messages'],
    backfill: true,
    ...over,
  })
  const settings = (...destinations: object[]) => ({ accounts: [stage.account('default', { default: true })], destinations })
  stage.settings(settings(destination('one', one.url), destination('two', two.url)))
  const [first, second] = await Promise.all([stage.serve(), stage.serve({ PORT: '0' })])
  const both = async () => {
    await reload(first, 'applied')
    await reload(second, 'applied')
  }
  const submission = stage.sandbox.addSubmission('default')
  const { webhookSecret } = stage.sandbox.account('default')
  const traffic = new Traffic(`${first.receiver}/webhooks`, 3, [webhookSecret], (n) => message(n, submission))
  await traffic.more(5)

  stage.settings(settings(destination('one', one.url, { concurrency: 2 }), destination('three', three.url)))
  await both()
  const { last_seq: seen } = await stage.db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()
  const sentToTwo = two.taken.length
  await traffic.more(10)
  await traffic.stop()

  const { sql } = stage.db.read
  const messages = sql.selectFrom('thread_messages').select('message_id')
  await until('all messages are there', async () => (await messages.execute()).length === traffic.sent.length)
  const all = await sql.selectFrom('changes').select('seq').where('entity', '=', 'thread_messages').orderBy('seq').execute()
  const seqs = all.map(({ seq }) => seq)
  await until('one has them all', () => one.taken.length >= seqs.length)
  expect(one.taken.map(({ data }) => data.seq)).toEqual(seqs)
  await until('three has the last', () => three.taken.at(-1)?.data.seq === seqs.at(-1))
  const begin = three.taken[0]?.data.seq ?? Number.POSITIVE_INFINITY
  expect(begin).toBeLessThanOrEqual(seqs.find((seq) => seq > seen) ?? 0)
  expect(three.taken.map(({ data }) => data.seq)).toEqual(seqs.filter((seq) => seq >= begin))
  expect(two.taken).toHaveLength(sentToTwo)

  expect((await listDestinations(stage.db.read)).map((row) => row.destination)).toEqual(['one', 'three', 'two'])
  const listed = json<{ items: { destination: string; kind: string | null }[] }>(
    await runHere(['destination', 'list', '--json'], stage.env),
  ).items
  expect(listed.find((row) => row.destination === 'two')?.kind).toBeNull()
  expect(await Promise.all([first.stop(), second.stop()])).toEqual([0, 0])
})

function message(n: number, submissionId: string): string {
  return JSON.stringify({ type: 'submission.message', submission_id: submissionId, message: wireMessage(n, { id: uuid(2, n) }) })
}
