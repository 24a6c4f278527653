import { describe, expect, it } from 'vitest'
import { hook } from '../config/support.ts'
import { postSigned } from '../e2e/signed.ts'
import { onSqlite } from '../tools/databases.ts'
import { wireMessage } from '../tools/observations.ts'
import { until } from '../tools/until.ts'
import { ReloadStage, reload } from './reload-stage.ts'
import { json, runHere } from './run.ts'
import { Traffic } from './traffic.ts'

const [OLD, NEW] = [hook(11, 32), hook(12, 32)]
const SENDERS = 4
/** Answers for each sender in every phase. */
const ROUNDS = 15

describe.each(onSqlite)('rotation of webhook secrets on $name', (database) => {
  it('trap 37: secrets change under traffic without a restart; nothing is lost or wrongly rejected, and bad settings change nothing', async () => {
    const stage = await ReloadStage.open(database)
    const submission = stage.sandbox.addSubmission('default')
    const hooks = stage.secret('hooks', OLD)
    const settings = { accounts: [stage.account('default', { default: true, webhook_secrets: hooks })] }
    stage.settings(settings)
    const serve = await stage.serve()
    const url = `${serve.receiver}/webhooks`
    const body = (n: number) => JSON.stringify({ type: 'submission.message', submission_id: submission, message: wireMessage(n) })
    const traffic = new Traffic(url, SENDERS, [OLD], body)
    await traffic.more(ROUNDS)

    stage.secret('hooks', `${OLD} ${NEW}`)
    expect(await reload(serve, 'applied')).toContain('account default: 2 webhook secrets')
    traffic.signWith(OLD, NEW)
    await traffic.more(ROUNDS)

    // Problems are reported without contents of the files.
    stage.secret('hooks', 'whsec_dG9vIHNob3J0')
    stage.settings({ ...settings, poll: { active: 'soon' }, unknown_thing: 1 })
    const refusal = await reload(serve, 'refused')
    for (const part of ['webhook_secrets', '24 to 64 bytes', 'poll.active', 'unknown_thing']) expect(refusal).toContain(part)
    await traffic.more(ROUNDS)
    stage.settings('accounts: [')
    await reload(serve, 'refused')
    await traffic.more(ROUNDS)

    stage.settings(settings)
    stage.secret('hooks', `${OLD} ${NEW}`)
    await reload(serve, 'unchanged')
    traffic.signWith(NEW)
    await traffic.more(ROUNDS)
    stage.secret('hooks', NEW)
    await reload(serve, 'applied')
    await traffic.more(ROUNDS)
    expect((await postSigned(url, OLD, body(1))).status).toBe(401)
    await traffic.stop()

    expect(traffic.sent.filter(({ status }) => status !== 204)).toEqual([])
    expect(traffic.sent.length).toBeGreaterThan(6 * SENDERS * ROUNDS)
    // Each delivery is stored, and each message mirrored.
    const { sql } = stage.db.read
    const stored = await sql.selectFrom('sync_inbox').select('delivery_id').execute()
    expect(new Set(stored.map((row) => row.delivery_id))).toEqual(new Set(traffic.sent.map(({ id }) => id)))
    const messages = sql.selectFrom('thread_messages').select('message_id')
    await until('all messages are there', async () => (await messages.execute()).length === traffic.sent.length)
    expect(await serve.stop()).toBe(0)
    const log = serve.lines().join('\n')
    for (const secret of [OLD, NEW]) expect(log).not.toContain(secret.slice('whsec_'.length))
  })

  it('trap 37: shows by which secret deliveries came last, so that an old one can go', async () => {
    const stage = await ReloadStage.open(database)
    const hooks = stage.secret('hooks', `${OLD} ${NEW}`)
    stage.settings({ accounts: [stage.account('default', { default: true, webhook_secrets: hooks })] })
    const serve = await stage.serve()
    await postSigned(`${serve.receiver}/webhooks`, NEW, '{}')
    expect(await serve.stop()).toBe(0)

    type Listed = { account: string; webhook_secrets: { position: number; last_verified_at: string | null }[] }[]
    const list = async () => json<{ items: Listed }>(await runHere(['account', 'list', '--json'], stage.env)).items[0]?.webhook_secrets
    const before = await list()
    expect(before).toMatchObject([{ position: 1, last_verified_at: null }, { position: 2 }])
    expect(before?.[1]?.last_verified_at).toMatch(/^20/)
    expect((await runHere(['account', 'list'], stage.env)).out).toMatch(/secret 1: never, secret 2: \d+ s ago/)
    expect((await runHere(['status'], stage.env)).out).toMatch(/secret 1: never, secret 2: \d+ s ago/)
    // The secret is accepted again at its new place.
    stage.secret('hooks', NEW)
    expect(await list()).toEqual([{ position: 1, last_verified_at: before?.[1]?.last_verified_at }])
    expect((await runHere(['account', 'list'], stage.env)).out).not.toContain(NEW.slice('whsec_'.length))
  })
})
