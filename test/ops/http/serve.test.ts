import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import { accountEnv, databaseEnv, startServe } from '../../e2e/serve.ts'
import { onSqlite } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'

const ALICE = 'alice-0123456789-abcdef'
const CAROL = 'carol-0123456789-abcdef'

describe.each(onSqlite)('the admin routes of a serve on $name', (database) => {
  it('track, sync, reconcile and reload, and show no secret', async () => {
    const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
    const opened = await closedAtEnd(database.open())
    const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-admin-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const tokens = join(folder, 'tokens')
    writeFileSync(tokens, `alice:${ALICE}\n`)
    const env = { ...accountEnv(sandbox), ...databaseEnv(opened.config), OPS_TOKENS_FILE: tokens, POLL_ACTIVE: '1h', POLL_QUIET: '1h' }
    const serve = await startServe(env)
    onTestFinished(() => serve.kill())
    const seen: string[] = []
    const ask = async (method: string, path: string, body?: unknown, token = ALICE) => {
      const headers = { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) }
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const response = await fetch(`${serve.ops}/api/v1${path}`, { method, headers, ...sent })
      const text = await response.text()
      seen.push(text, ...response.headers.values())
      const json = () => JSON.parse(text) as { items: Record<string, unknown>[] } & Record<string, unknown>
      return { status: response.status, text, json }
    }

    const id = sandbox.addSubmission('default')
    sandbox.addMessage('default', id, { body_text: 'One.' }, { quiet: true })
    const tracked = { account: 'default', added: 1, known: 0, purged: 0, ids_added: 0, ids_known: 0 }
    expect((await ask('POST', '/submissions/track', { ids: [id] })).json()).toEqual(tracked)
    const stored = opened.db.read.sql.selectFrom('thread_messages').select('message_id').where('submission_id', '=', id)
    const messages = async () => (await stored.execute()).length
    await until('the message is there', async () => (await messages()) === 1)
    const reads = opened.db.read.sql.selectFrom('sync_reads').select('read').where('submission_id', '=', id)
    await until('all is read', async () => (await reads.where('last_read_at', 'is', null).execute()).length === 0)
    sandbox.addMessage('default', id, { body_text: 'Two.' }, { quiet: true })
    expect((await ask('POST', '/submissions/sync', { ids: [id] })).json()).toEqual({ account: 'default', submissions: 1 })
    await until('the second is there too', async () => (await messages()) === 2)

    const run = (await ask('POST', '/reconcile-runs', {})).json().items[0]
    const ended = await until('the run has ended', async () => {
      const now = (await ask('GET', `/reconcile-runs/${run?.['run_id']}`)).json()
      return now['ended_at'] === null ? null : now
    })
    expect(ended).toMatchObject({ requested_by: 'admin:alice', state: 'done', exit_code: 0, submissions_total: 1, submissions_done: 1 })
    expect((await ask('GET', `/reconcile-runs/${run?.['run_id']}/report.html`)).text).toContain('</html>')

    writeFileSync(tokens, 'alice:short\n')
    const refused = await ask('POST', '/reload')
    expect([refused.status, refused.json()['detail']]).toEqual([422, expect.stringMatching(/^OPS_TOKENS_FILE/)])
    writeFileSync(tokens, `carol:${CAROL}\n`)
    expect((await ask('POST', '/reload')).status).toBe(200)
    expect((await ask('GET', '/accounts')).status).toBe(401)
    const actions = (await ask('GET', '/actions', undefined, CAROL)).json().items
    expect(actions.map(({ who, action, outcome }) => [who, action, outcome])).toEqual([
      ['alice', 'settings.reload', 'done'],
      ['alice', 'settings.reload', 'failed'],
      ['alice', 'reconcile.report', 'done'],
      ['alice', 'reconcile.request', 'done'],
      ['alice', 'submission.sync', 'done'],
      ['alice', 'submission.track', 'done'],
    ])
    for (const path of ['/status', '/accounts', '/destinations', '/inbox', '/outbox', '/rejected', '/completeness', '/openapi.json']) {
      expect([path, (await ask('GET', path, undefined, CAROL)).status]).toEqual([path, 200])
    }
    const { credentials, webhookSecret } = sandbox.account('default')
    for (const secret of [ALICE, CAROL, webhookSecret, credentials[0]?.clientSecret ?? '', 'postgres://']) {
      expect(seen.filter((text) => text.includes(secret))).toEqual([])
      expect(serve.lines().filter((line) => line.includes(secret))).toEqual([])
    }
    expect(serve.lines().filter((line) => line.includes('"who":"alice"'))).toHaveLength(5)
  })
})
