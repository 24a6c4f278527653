import { beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import { timeFromMs } from '../../../../src/model/time.ts'
import { recordHeartbeat } from '../../../../src/store/upkeep/processes.ts'
import { insertRows, openAgain, testDatabases } from '../../../tools/databases.ts'
import { ALICE, adminRigForEach, type Page } from '../rig.ts'

const VIEWER = 'viewer-0123456789-abc'

describe.each(testDatabases)('settings, processes and states by the admin routes, on $name', (database) => {
  const rig = adminRigForEach(database)
  beforeEach(async () => {
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `alice:${ALICE} vera:${VIEWER}:viewer` })
  })

  const seen = async (path: string) => (await rig.ask<Page>('GET', path, { token: VIEWER })).json.items

  it('shows a viewer the settings in force, and no secret', async () => {
    const answer = await rig.ask<Page>('GET', '/settings', { token: VIEWER })
    const settings = new Map(answer.json.items.map(({ name, ...rest }) => [name, rest]))
    expect(settings.get('accounts.default.base_url')).toMatchObject({ value: 'http://127.0.0.1:9/api/v1', is_secret: false })
    expect(settings.get('accounts.default.client_credentials.1.id')).toMatchObject({ value: 'bac_1', is_secret: false })
    expect(settings.get('accounts.default.client_credentials.1.secret')).toMatchObject({ value: null, is_secret: true })
    expect(settings.get('ops.tokens.vera.token')).toMatchObject({ value: null, is_secret: true })
    expect(settings.get('ops.tokens.vera.role')).toMatchObject({ value: 'viewer', is_secret: false })
    expect(settings.get('destinations.ams.entities')).toMatchObject({ value: ['thread_messages'], is_secret: false })
    expect(settings.get('poll.active')).toMatchObject({ value: '1m', variable: 'POLL_ACTIVE', is_default: true })
    expect(settings.get('receiver.body_limit')).toMatchObject({ value: '4MiB', variable: 'WEBHOOK_BODY_LIMIT', is_default: true })
    for (const secret of ['bas_never', 'BwcHBwcH', 'CQkJCQkJ', ALICE, VIEWER]) expect(answer.text).not.toContain(secret)
    rig.config = loadConfig({ ...rig.env, LOG_LEVEL: 'warn' })
    const level = { name: 'log.level', value: 'warn', is_secret: false, variable: 'LOG_LEVEL', is_default: false }
    expect((await rig.ask<Page>('GET', '/settings')).json.items).toContainEqual(level)
  })

  it('shows running processes', async () => {
    const other = await openAgain(rig.opened.config)
    await recordHeartbeat(rig.db, { id: rig.db.processId, role: 'all', version: '1.2.3' })
    await recordHeartbeat(other, { id: other.processId, role: 'work', version: '1.2.2' })
    await other.close()
    expect(await seen('/processes')).toMatchObject([
      { process_id: rig.db.processId, role: 'all', version: '1.2.3', is_this: true },
      { process_id: other.processId, role: 'work', version: '1.2.2', is_this: false },
    ])
  })

  it('shows why deliveries were rejected', async () => {
    const request = { account: 'default', path: '/webhooks', address: '192.0.2.1', headers: '{}', body: null, replayed_at: null }
    const refuse = (reason: string, ms: number) => ({ ...request, reason, received_at: timeFromMs(ms) })
    const rows = [refuse('wrong_signature', 1_000), refuse('stale', 2_000), refuse('wrong_signature', 3_000)]
    await insertRows(rig.db, 'sync_rejected', rows)
    expect(await seen('/rejected/reasons')).toEqual([
      { reason: 'wrong_signature', count: 2, newest_at: timeFromMs(3_000) },
      { reason: 'stale', count: 1, newest_at: timeFromMs(2_000) },
    ])
    expect(await seen('/rejected?reason=stale')).toMatchObject([{ reason: 'stale' }])
    expect(await seen('/rejected?reason=none')).toEqual([])
  })

  it('shows credential ids and the state of a destination', async () => {
    expect(await seen('/accounts')).toMatchObject([
      { account: 'default', credentials: [{ client_id: 'bac_1', is_in_use: false, last_token_at: null }] },
    ])
    const settings = { mapping: expect.any(String), on_dead: expect.any(String), concurrency: expect.any(Number) }
    const ams = { destination: 'ams', behind: 0, failures: 0, circuit: 'closed', ...settings }
    expect((await seen('/destinations'))[0]).toMatchObject(ams)
    const rests = { failures: 3, retry_at: timeFromMs(Date.now() + 60_000) }
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_destinations').set(rests).where('destination', '=', 'ams').execute())
    expect((await seen('/destinations'))[0]).toMatchObject({ circuit: 'open', ...rests })
  })
})
