import { expect, it, onTestFinished } from 'vitest'
import { startServing } from '../../src/app/serving.ts'
import { TransientError } from '../../src/base/errors.ts'
import { loadConfig } from '../../src/config/config.ts'
import { listActions } from '../../src/store/operators/actions.ts'
import { hook } from '../config/support.ts'
import { postSigned } from '../e2e/signed.ts'
import { testDatabases } from '../tools/databases.ts'
import { ReloadStage } from './reload-stage.ts'

it.each(testDatabases)(
  'a store that is away when the settings come into force: nothing changes, and the next reload does it, on $name',
  async (database) => {
    const stage = await ReloadStage.open(database)
    const [old, fresh] = [hook(41), hook(42)]
    const settings = (webhookSecret: string, destinations: object[]) => ({
      accounts: [stage.account('default', { default: true, webhook_secrets: [webhookSecret] })],
      receiver: { host: '127.0.0.1', port: 0 },
      ops: { port: 0 },
      destinations,
    })
    stage.settings(settings(old, []))
    let away = false
    let deaf = false
    const failPoint = (point: string) => {
      if (away && point === 'destinations:before-commit') throw new TransientError('the store is away')
      if (deaf && point === 'action-begun:before-commit') throw new TransientError('the store takes no notes')
    }
    const written: string[] = []
    const logDestination = { write: (line: string) => void written.push(line) }
    const load = async () => loadConfig(stage.env)
    const serving = await startServing(load, { role: 'all', overrides: { failPoint, logDestination } })
    onTestFinished(() => serving.stop())
    const post = async (secret: string) => (await postSigned(`${serving.receiver}/webhooks`, secret, '{}')).status
    const destinations = () => stage.db.read.sql.selectFrom('sync_destinations').select('destination').execute()

    const secret = stage.secret('push', hook(43))
    stage.settings(settings(fresh, [{ name: 'ams', kind: 'webhook', url: 'https://ams.test/hook', secret }]))
    away = true
    expect(await serving.reload()).toEqual({
      applied: [],
      needsRestart: [],
      fromEnvironment: expect.any(Array),
      problems: ['the store is away'],
    })
    expect([await post(old), await post(fresh), await destinations()]).toEqual([204, 401, []])

    away = false
    expect((await serving.reload()).applied).toEqual(['account default: 1 webhook secret, changed', 'destination ams is new'])
    expect([await post(old), await post(fresh), await destinations()]).toEqual([401, 204, [{ destination: 'ams' }]])
    // A reload happens even if it can't be recorded.
    deaf = true
    stage.settings(settings(old, []))
    expect((await serving.reload()).applied).toHaveLength(2)
    expect(await post(old)).toBe(204)
    expect(written.join('')).toContain('the store takes no notes')
    // Each was audited.
    expect(await listActions(stage.db.read, { action: 'settings.reload' }, 10)).toMatchObject([
      { who: 'signal', target: null, outcome: 'done', detail: { applied: [expect.any(String), 'destination ams is new'], problems: 0 } },
      { who: 'signal', target: null, outcome: 'failed', detail: { applied: [], needs_restart: [], problems: 1 } },
    ])
    for (const value of [old, fresh, hook(43)]) expect(written.join('')).not.toContain(value.slice('whsec_'.length))
  },
)
