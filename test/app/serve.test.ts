import { describe, expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { accountEnv, databaseEnv, type Environment, type ServeProcess, startServe } from '../e2e/serve.ts'
import { type OpenedDatabase, onSqlite, sqliteDatabase, type TestDatabase } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'
import { json, run, runHere } from './run.ts'

const ACCOUNT = 'default'

interface Scene {
  readonly sandbox: Sandbox
  readonly opened: OpenedDatabase
  readonly env: Environment
  readonly serve: ServeProcess
}

async function scene(database: TestDatabase, over: Environment = {}): Promise<Scene> {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const opened = await closedAtEnd(database.open())
  const env = { ...accountEnv(sandbox), ...databaseEnv(opened.config), POLL_ACTIVE: '1s', ...over }
  const serve = await startServe(env)
  onTestFinished(() => serve.kill())
  sandbox.account(ACCOUNT).target = `${serve.receiver}/webhooks`
  return { sandbox, opened, env, serve }
}

describe.each(onSqlite)('a served mirror on $name', (database) => {
  it('accepts deliveries, reads tracked submissions, answers its commands, and exits with 0 on a stop signal', async () => {
    const { sandbox, opened, env, serve } = await scene(database)
    const tracked = sandbox.addSubmission(ACCOUNT)
    const lane = sandbox.addLane(ACCOUNT, tracked).rail.submission_market_id
    sandbox.addEvent(ACCOUNT, tracked, { lane_id: lane, type: 'market_attached' }, { quiet: true })
    const pushed = sandbox.addSubmission(ACCOUNT)

    const track = await run(['track', tracked], env)
    expect(track).toEqual({ code: 0, out: '1 new submission tracked in account default; 0 already tracked\n', err: '' })
    expect((await runHere(['track', tracked, tracked], env)).out).toBe('0 new submissions tracked in account default; 1 already tracked\n')

    const message = sandbox.addMessage(ACCOUNT, pushed, { body_text: 'The quote is here.' })
    await sandbox.deliveries.idle()
    const rows = opened.db.read.sql
    const messages = rows.selectFrom('thread_messages').selectAll().where('message_id', '=', message.id)
    await until('what was delivered is there', () => messages.executeTakeFirst())
    const events = rows.selectFrom('market_events').selectAll().where('submission_id', '=', tracked)
    await until('what was polled is there', () => events.executeTakeFirst())

    const sync = await runHere(['sync', '--all'], env)
    expect(sync).toMatchObject({ code: 0, err: '' })
    expect(sync.out).toMatch(/^2 submissions read in account default: \d+ changes?, 0 reads failed\n$/)

    const status = json<{
      accounts: { account: string; state: string; submissions: number; inbox: { done: number } }[]
      processes: unknown[]
    }>(await runHere(['status', '--json'], env))
    expect(status.accounts).toMatchObject([{ account: ACCOUNT, state: 'active', submissions: 2, inbox: { done: 1, dead: 0 } }])
    expect(status.processes).toMatchObject([{ role: 'all' }])
    expect((await runHere(['status'], env)).out).toMatch(/^default +active +2/m)

    expect(await serve.stop()).toBe(0)
    expect(json<{ processes: unknown[] }>(await runHere(['status', '--json'], env)).processes).toEqual([])
  })

  it('lists, shows and replays deliveries, also rejected ones', async () => {
    const { sandbox, env, serve } = await scene(database)
    const id = sandbox.addSubmission(ACCOUNT)
    sandbox.deliver(ACCOUNT, '{"type":"submission.\\u001b[2Jnovelty","what":"\u0007"}', { id: 'msg_aside' })
    sandbox.addMessage(ACCOUNT, id, { body_text: 'The quote is here.' })
    await sandbox.deliveries.idle()
    await until('it is set aside', async () => {
      const settled = json<{ items: { delivery_id: string }[] }>(await runHere(['inbox', 'list', '--state', 'aside', '--json'], env)).items
      return settled[0]?.delivery_id === 'msg_aside'
    })
    const shown = await runHere(['inbox', 'show', 'msg_aside'], env)
    expect(shown.code).toBe(0)
    expect(shown.out).toContain('\\u0007')
    for (const character of ['\u0007', '\u001b']) expect(shown.out).not.toContain(character)
    const ofSubmission = await until('the submission is known', async () => {
      const { out } = await runHere(['inbox', 'list', '--submission', id], env)
      return out.includes(id) && out
    })
    expect(ofSubmission).toMatch(
      /^inbox id +delivery +account +received +state +kind +what happened +(?:insured +)?submission +attempts\n +\d+ +msg_/m,
    )
    expect(await runHere(['inbox', 'show', 'msg_none'], env)).toMatchObject({ code: 2, err: 'delivery msg_none does not exist\n' })

    expect((await runHere(['inbox', 'replay', '--state', 'aside'], env)).out).toBe('1 delivery will be processed again\n')
    expect(await runHere(['inbox', 'replay'], env)).toMatchObject({ code: 2, out: '' })

    const answer = await fetch(`${serve.receiver}/webhooks`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    expect(answer.status).toBe(401)
    const [rejected] = await until('what was refused is listed', async () => {
      const list = json<{ items: { rejected_id: number; reason: string }[] }>(
        await runHere(['inbox', 'list', '--rejected', '--json'], env),
      ).items
      return list.length > 0 && list
    })
    expect(rejected).toMatchObject({ reason: 'missing_headers' })
    expect((await runHere(['inbox', 'show', '--rejected', String(rejected?.rejected_id)], env)).out).toContain('missing_headers')
    const replayed = await runHere(['inbox', 'replay', '--rejected'], env)
    expect(replayed.out).toContain('0 rejected deliveries were verified')
    expect(await serve.stop()).toBe(0)
  })

  it('answers whether it is alive, can store, and its status, and nothing else', async () => {
    const { serve, sandbox } = await scene(database)
    const ask = async (path: string) => {
      const answer = await fetch(`${serve.ops}${path}`)
      return { status: answer.status, text: await answer.text() }
    }
    expect(await ask('/healthz')).toEqual({ status: 200, text: 'ok\n' })
    expect(await ask('/readyz')).toEqual({ status: 200, text: 'ready\n' })
    const metrics = await ask('/metrics')
    expect(metrics.status).toBe(200)
    expect(metrics.text).toMatch(/^submission_mirror_store_up 1$/m)
    expect(metrics.text).toMatch(/^submission_mirror_account_state\{account="default",state="active"\} 1$/m)
    expect((await ask('/')).status).toBe(404)
    expect((await ask('/webhooks')).status).toBe(404)

    // Readiness doesn't depend on the service.
    await sandbox.close()
    expect((await ask('/readyz')).status).toBe(200)
    expect(await serve.stop()).toBe(0)
  })
})

describe('one serve on SQLite', () => {
  it('refuses a second one with a clear sentence and exit code 4, and lets it in when the first is killed', async () => {
    const { env, serve } = await scene(sqliteDatabase)
    const second = await run(['serve'], env)
    expect(second).toMatchObject({ code: 4, out: '' })
    expect(second.err).toMatch(/^another process \(`serve` or `restore`\) is using .*\n$/)
    await serve.kill()
    const third = await startServe(env)
    expect(await third.stop()).toBe(0)
  })

  it('takes deliveries in maintenance mode while work waits', async () => {
    const { sandbox, env, serve } = await scene(sqliteDatabase)
    await serve.stop()
    const receiving = await startServe(env, 'set -- "$@" --role receive')
    sandbox.account(ACCOUNT).target = `${receiving.receiver}/webhooks`
    sandbox.addMessage(ACCOUNT, sandbox.addSubmission(ACCOUNT), { body_text: 'The quote is here.' })
    await sandbox.deliveries.idle()
    const waiting = json<{ items: { state: string }[] }>(await runHere(['inbox', 'list', '--json'], env)).items
    expect(waiting).toMatchObject([{ state: 'ready' }])
    expect(await receiving.stop()).toBe(0)
  })
})
