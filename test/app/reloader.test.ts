import { describe, expect, it } from 'vitest'
import { Reloader } from '../../src/app/reloader.ts'
import { UsageError } from '../../src/base/errors.ts'
import { createLog, KnownSecrets } from '../../src/base/log.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { account, hook, withFile } from '../config/support.ts'

const [first, second] = [loadConfig(account), loadConfig({ ...account, WEBHOOK_SECRETS: hook(2) })]

/** A reloader whose steps the test releases one by one. */
function rig(load: () => Promise<Config>) {
  const secrets = new KnownSecrets([])
  const lines: string[] = []
  const log = createLog({ level: 'info', pretty: false, secrets, destination: { write: (line) => void lines.push(line) } })
  const applied: Config[] = []
  let current = first
  const reloader = new Reloader({
    load,
    current: () => current,
    apply: async (config) => {
      applied.push(config)
      log.info(`by ${config.accounts[0]?.webhookSecrets[0]?.reveal()}`)
      current = config
    },
    secrets,
    log,
    observer: silentObserver,
  })
  return { reloader, lines, log, applied }
}

describe('reloads', () => {
  it('go one after another; who asks while one waits shares it, since it reads later', async () => {
    const loads: PromiseWithResolvers<Config>[] = []
    let asked = Promise.withResolvers<void>()
    const { reloader } = rig(async () => {
      const load = Promise.withResolvers<Config>()
      loads.push(load)
      asked.resolve()
      return await load.promise
    })
    const one = reloader.reload()
    await asked.promise
    asked = Promise.withResolvers()
    const [two, three] = [reloader.reload(), reloader.reload()]
    expect(two).toBe(three)
    expect(loads).toHaveLength(1)
    loads[0]?.resolve(second)
    expect((await one).applied).toEqual(['account default: 1 webhook secret, changed'])
    await asked.promise
    loads[1]?.resolve(second)
    expect(await two).toEqual({ applied: [], needsRestart: [], fromEnvironment: expect.any(Array), problems: [] })
    expect(loads).toHaveLength(2)
  })

  it('mask values under new keys of tax ids, in the log and for every destination', async () => {
    const destinations = [{ name: 'a', kind: 'file', target: { type: 'folder', path: '/drop' } }]
    const wanted = loadConfig(withFile(JSON.stringify({ tax_id_fields: ['owner_no'], destinations }), account))
    const { reloader, lines, log } = rig(async () => wanted)
    expect((await reloader.reload()).applied).toEqual(['destination a is new', 'tax_id_fields: changed'])
    log.info({ ownerNo: '12-3456789' }, 'logged')
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ ownerNo: '[redacted]', msg: 'logged' })
    expect(wanted.destinations[0]?.taxIdFields).toEqual(['owner_no'])
  })

  it('mask new secrets in the log before anything is done with them', async () => {
    const { reloader, lines, applied } = rig(async () => second)
    await reloader.reload()
    expect(applied).toEqual([second])
    expect(lines.join('')).toContain('by [redacted]')
  })

  it("say that the running process lacks a variable, because setting it for the command doesn't help", async () => {
    const { reloader } = rig(async () => loadConfig(withFile('log: { level: "${AMS_LEVEL}" }', account)))
    const expected =
      'log.level in CONFIG_FILE refers to the variable AMS_LEVEL, which is not set for `serve`. Set it there and restart `serve`'
    expect((await reloader.reload()).problems).toEqual([expected])
  })

  it("report every problem and change nothing if the settings are invalid or can't be applied", async () => {
    const problems = ['one is wrong', 'another is wrong']
    const bad = rig(async () => {
      throw new UsageError(problems)
    })
    expect(await bad.reloader.reload()).toEqual({ applied: [], needsRestart: [], fromEnvironment: expect.any(Array), problems })
    expect(bad.applied).toEqual([])
    expect(bad.lines.join('')).toContain('settings not reloaded, nothing changed: one is wrong; another is wrong')
    const failing = rig(async () => {
      throw new Error('the disk is gone')
    })
    expect((await failing.reloader.reload()).problems).toEqual(['the disk is gone'])
  })

  it('are rejected while the process stops, even if they have started reading', async () => {
    const load = Promise.withResolvers<Config>()
    const { reloader, applied } = rig(() => load.promise)
    const begun = reloader.reload()
    await Promise.resolve()
    reloader.close()
    load.resolve(second)
    for (const result of [await begun, await reloader.reload()]) {
      expect(result.problems).toEqual([expect.stringContaining('the process is stopping')])
    }
    expect(applied).toEqual([])
  })
})
