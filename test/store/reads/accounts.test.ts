import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import {
  ensureAccounts,
  findAccount,
  forgetUnreadableEvents,
  listAccounts,
  noteUnreadableEvents,
  pinBrokerage,
  resumeAccount,
  retryAccountNow,
  stopAccount,
} from '../../../src/store/reads/accounts.ts'
import { testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

describe.each(testDatabases)('accounts on $name', ({ open }) => {
  async function withAccounts(...names: string[]): Promise<Db> {
    const { db } = await closedAtEnd(open())
    await ensureAccounts(db, names)
    return db
  }

  it('are created once, and keep their state', async () => {
    const db = await withAccounts('b', 'a')
    await stopAccount(db, 'a', 'suspended', 'refused', 1_000)
    await ensureAccounts(db, ['a', 'b', 'c'])
    expect((await listAccounts(db.read)).map(({ account, state }) => [account, state])).toEqual([
      ['a', 'suspended'],
      ['b', 'active'],
      ['c', 'active'],
    ])
    expect(await findAccount(db.read, 'd')).toBeNull()
  })

  it('are stopped until a time, and that again does not change since when', async () => {
    const db = await withAccounts('a', 'b')
    await stopAccount(db, 'a', 'suspended', 'refused', 60_000)
    const first = await findAccount(db.read, 'a')
    expect(Date.parse(first?.retry_at ?? '')).toBeGreaterThan(Date.now() + 30_000)
    await stopAccount(db, 'a', 'suspended', 'refused again', 120_000)
    const second = await findAccount(db.read, 'a')
    expect(second).toMatchObject({ state: 'suspended', reason: 'refused again', since: first?.since })
    expect((second?.retry_at ?? '') > (first?.retry_at ?? '')).toBe(true)
    await stopAccount(db, 'a', 'paused', 'another brokerage', 1_000)
    expect((await findAccount(db.read, 'a'))?.since).not.toBe(first?.since)
    expect(await findAccount(db.read, 'b')).toMatchObject({ state: 'active', since: null })
    await resumeAccount(db, 'a')
    expect(await findAccount(db.read, 'a')).toMatchObject({ state: 'active', reason: null, retry_at: null })
  })

  it('are retried immediately on request, and stay stopped until that succeeds', async () => {
    const db = await withAccounts('a')
    await stopAccount(db, 'a', 'paused', 'a wave', 900_000)
    await retryAccountNow(db, 'a')
    const row = await findAccount(db.read, 'a')
    expect(row?.state).toBe('paused')
    expect(Date.parse(row?.retry_at ?? '')).toBeLessThanOrEqual(Date.now() + 1)
  })

  it('trap 72: are stopped for any reason, NUL in it too', async () => {
    const db = await withAccounts('a')
    await stopAccount(db, 'a', 'suspended', 'it said \u0000 and \ud800', 1_000)
    expect((await findAccount(db.read, 'a'))?.reason).toBe('it said \ufffd and \ufffd')
  })

  it('trap 46: a brokerage is pinned once; the client may change', async () => {
    const db = await withAccounts('a')
    await pinBrokerage(db, 'a', { brokerage: 'first', clientId: 'bac_1' })
    await pinBrokerage(db, 'a', { brokerage: 'second', clientId: 'bac_2', label: 'Mirror', activeStates: ['TX'] })
    const kept = { brokerage: 'first', client_id: 'bac_2', label: 'Mirror', active_states: '["TX"]' }
    expect(await findAccount(db.read, 'a')).toMatchObject(kept)
  })

  it('note that their event deliveries cannot be read', async () => {
    const db = await withAccounts('a', 'b')
    await db.write('test-note', (tx) => noteUnreadableEvents(tx, 'a', '2026-01-05T12:00:00.000000Z'))
    expect((await listAccounts(db.read)).map((row) => row.events_unreadable_at)).toEqual(['2026-01-05T12:00:00.000000Z', null])
  })

  it('forget unreadable event deliveries a day later: until then none counts as lost', async () => {
    const db = await withAccounts('a', 'b')
    for (const [account, hours] of [
      ['a', 23],
      ['b', 25],
    ] as const)
      await db.write('test-note', (tx) => noteUnreadableEvents(tx, account, timeFromMs(Date.now() - hours * 3_600_000)))
    await db.write('test-note', (tx) => forgetUnreadableEvents(tx, ['a', 'b']))
    expect((await listAccounts(db.read)).map((row) => row.events_unreadable_at === null)).toEqual([false, true])
  })
})
