import { describe, expect, it } from 'vitest'
import { ensureAccounts, findAccount } from '../../../src/store/reads/accounts.ts'
import { findPause, LONG_PAUSE_MS, listPauses, savePause } from '../../../src/store/reads/pauses.ts'
import { testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

describe.each(testDatabases)('pauses on $name', ({ open }) => {
  it('last until the end of the longest, and are long from their beginning to that', async () => {
    const { db } = await closedAtEnd(open())
    await ensureAccounts(db, ['a', 'b'])
    expect(await listPauses(db.read)).toEqual([])
    await savePause(db, 'a', { ms: LONG_PAUSE_MS - 5_000, reason: 'first\u0000' })
    const first = await findPause(db.read, 'a')
    expect(first).toMatchObject({ account: 'a', isLong: false, reason: 'first\uFFFD' })
    expect(first?.ms).toBeGreaterThan(LONG_PAUSE_MS / 2)

    await savePause(db, 'a', { ms: 1_000, reason: 'shorter' })
    expect(await findPause(db.read, 'a')).toMatchObject({ until: first?.until, reason: first?.reason })
    await savePause(db, 'a', { ms: 2 * LONG_PAUSE_MS, reason: 'longer' })
    expect(await listPauses(db.read)).toMatchObject([{ account: 'a', since: first?.since, isLong: true, reason: 'longer' }])
    expect(await findPause(db.read, 'b')).toBeNull()
  })

  it('are none when they are over, and the next one has a beginning of its own', async () => {
    const { db } = await closedAtEnd(open())
    await ensureAccounts(db, ['a'])
    await savePause(db, 'a', { ms: -1, reason: 'first' })
    const { throttled_until: ended } = (await findAccount(db.read, 'a')) ?? {}
    expect(await listPauses(db.read)).toEqual([])
    await savePause(db, 'a', { ms: 30_000, reason: 'second' })
    const second = await findPause(db.read, 'a')
    expect(second).toMatchObject({ reason: 'second', isLong: false })
    expect((second?.since ?? '') > (ended ?? '')).toBe(true)
  })
})
