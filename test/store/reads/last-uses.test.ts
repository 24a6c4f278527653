import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { LastUses } from '../../../src/store/reads/last-uses.ts'
import { silentLog, testDatabases } from '../../tools/databases.ts'
import { interrupted } from '../../tools/meddled.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'

const SECRET = 'webhook_secret'

describe.each(testDatabases)('the last uses of secrets and credentials on $name', ({ open }) => {
  /** @param failing transactions that fail first. */
  async function bench(failing = 0) {
    const clock = new ManualClock()
    const { db } = await closedAtEnd(open({ clock }))
    let tries = 0
    const away = interrupted(db, () => {
      tries += 1
      if (tries <= failing) throw new TransientError('the store is away')
    })
    const uses = new LastUses(away, silentLog)
    const stored = async () => {
      const rows = await db.read.sql.selectFrom('sync_last_uses').selectAll().orderBy('account').orderBy('kind').orderBy('key').execute()
      return rows.map(({ account, kind, key, last_used_at }) => [account, kind, key, last_used_at])
    }
    return { clock, uses, tries: () => tries, stored }
  }

  it('are written by account and secret, each the newest, and nothing when there are none', async () => {
    const { uses, tries, stored } = await bench()
    for (const [account, kind, key, atMs] of [
      ['a', SECRET, 'x', 2],
      ['a', SECRET, 'x', 3],
      ['a', SECRET, 'x', 1],
      ['a', 'credential', 'x', 1],
      ['b', SECRET, 'x', 1],
    ] as const)
      uses.note(kind, account, key, atMs)
    for (let n = 0; n < 2; n += 1) await uses.write()
    const written = [
      ['a', 'credential', 'x', timeFromMs(1)],
      ['a', SECRET, 'x', timeFromMs(3)],
      ['b', SECRET, 'x', timeFromMs(1)],
    ]
    expect(await stored()).toEqual(written)
    expect(tries()).toBe(1)
    // Another process may have recorded it earlier.
    uses.note(SECRET, 'a', 'x', 2)
    await uses.write()
    expect(await stored()).toEqual(written)
  })

  it('are written when the store is available again, with the newest use', async () => {
    const { uses, stored } = await bench(1)
    uses.note(SECRET, 'a', 'x', 1)
    uses.note(SECRET, 'a', 'y', 1)
    await uses.write()
    uses.note(SECRET, 'a', 'x', 2)
    expect(await stored()).toEqual([])
    await uses.write()
    expect(await stored()).toEqual([
      ['a', SECRET, 'x', timeFromMs(2)],
      ['a', SECRET, 'y', timeFromMs(1)],
    ])
  })

  it('are written every ten seconds, and when the process stops', async () => {
    const { clock, uses, tries, stored } = await bench()
    const stopping = new AbortController()
    uses.note(SECRET, 'a', 'x', 1)
    const running = uses.run(stopping.signal)
    clock.advance(9_999)
    await turn()
    expect(tries()).toBe(0)
    clock.advance(1)
    await until('they are written', async () => (await stored()).length > 0)
    expect(await stored()).toEqual([['a', SECRET, 'x', timeFromMs(1)]])
    uses.note(SECRET, 'a', 'x', 2)
    stopping.abort()
    await running
    expect(await stored()).toEqual([['a', SECRET, 'x', timeFromMs(2)]])
  })
})
