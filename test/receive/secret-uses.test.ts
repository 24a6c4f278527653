import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { TransientError } from '../../src/base/errors.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { SecretUses } from '../../src/receive/secret-uses.ts'
import { secretUses } from '../../src/store/reads/webhook-secrets.ts'
import { silentLog, testDatabases } from '../tools/databases.ts'
import { interrupted } from '../tools/meddled.ts'
import { until } from '../tools/until.ts'

describe.each(testDatabases)('the last uses of webhook secrets on $name', ({ open }) => {
  /** @param failing how many transactions fail first. */
  async function bench(failing = 0) {
    const { db, close } = await open()
    onTestFinished(close)
    const clock = new ManualClock()
    let tries = 0
    const away = interrupted(db, () => {
      tries += 1
      if (tries <= failing) throw new TransientError('the store is away')
    })
    const uses = new SecretUses(away, clock, silentLog)
    return { clock, uses, tries: () => tries, stored: async () => (await secretUses(db.read)).map((use) => Object.values(use)) }
  }

  it('are written by account and secret, each the newest, and nothing when there are none', async () => {
    const { uses, tries, stored } = await bench()
    for (const [account, tag, atMs] of [
      ['a', 'x', 2],
      ['a', 'x', 3],
      ['a', 'x', 1],
      ['a', 'y', 1],
      ['b', 'x', 1],
    ] as const)
      uses.note(account, tag, atMs)
    for (let n = 0; n < 2; n += 1) await uses.write()
    const written = [
      ['a', 'x', timeFromMs(3)],
      ['a', 'y', timeFromMs(1)],
      ['b', 'x', timeFromMs(1)],
    ]
    expect(await stored()).toEqual(written)
    expect(tries()).toBe(1)
    // As another process may have seen it before.
    uses.note('a', 'x', 2)
    await uses.write()
    expect(await stored()).toEqual(written)
  })

  it('are written when the store is there again, and the newest is what was seen meanwhile', async () => {
    const { uses, stored } = await bench(1)
    uses.note('a', 'x', 1)
    uses.note('a', 'y', 1)
    await uses.write()
    uses.note('a', 'x', 2)
    expect(await stored()).toEqual([])
    await uses.write()
    expect(await stored()).toEqual([
      ['a', 'x', timeFromMs(2)],
      ['a', 'y', timeFromMs(1)],
    ])
  })

  it('are written every ten seconds, and when the process stops', async () => {
    const { clock, uses, tries, stored } = await bench()
    const stopping = new AbortController()
    uses.note('a', 'x', 1)
    const running = uses.run(stopping.signal)
    clock.advance(9_999)
    await turn()
    expect(tries()).toBe(0)
    clock.advance(1)
    await until('they are written', async () => (await stored()).length > 0)
    expect(await stored()).toEqual([['a', 'x', timeFromMs(1)]])
    uses.note('a', 'x', 2)
    stopping.abort()
    await running
    expect(await stored()).toEqual([['a', 'x', timeFromMs(2)]])
  })
})
