import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { longestIntervals, type PollPolicy } from '../../src/poll/intervals.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { shortenWaits } from '../../src/store/reads/shorten-waits.ts'
import { onSqlite } from '../tools/databases.ts'
import { interrupted } from '../tools/meddled.ts'
import { policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'
const MINUTE = 60_000

async function start(db: Db, poll: Partial<PollPolicy['poll']> = {}, replay: Partial<PollPolicy['replay']> = {}): Promise<void> {
  const changed = { poll: { ...policy.poll, ...poll }, replay: { ...policy.replay, ...replay } }
  await shortenWaits(db, ACCOUNT, longestIntervals(changed), new AbortController().signal)
}

async function quiet(rig: Rig): Promise<string> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  await rig.track([id])
  const poller = await rig.poll()
  await rig.passAndRest(12 * 60 * MINUTE)
  await poller.stop()
  return id
}

describe.each(onSqlite)('shorter waits on $name', (database) => {
  it('a shorter POLL_MAX applies to stored due times', async () => {
    const rig = await Rig.open(database)
    const id = await quiet(rig)
    await start(rig.db)
    const before = await rig.read(id, 'events')
    expect(Date.parse(before.due_at ?? '')).toBeGreaterThan(Date.now() + 60 * MINUTE)
    await start(rig.db, { maxMs: 30 * MINUTE })
    for (const read of ['events', 'thread', 'requirements'] as const) {
      expect(Date.parse((await rig.read(id, read)).due_at ?? '')).toBeLessThanOrEqual(Date.now() + 30 * MINUTE)
    }
  })

  it('a shorter REPLAY_ACTIVE applies to stored due times', async () => {
    const rig = await Rig.open(database)
    const id = await quiet(rig)
    await start(rig.db)
    expect(Date.parse((await rig.read(id, 'events')).full_read_due_at ?? '')).toBeGreaterThan(Date.now() + 60 * MINUTE)
    await start(rig.db, {}, { activeMs: 10 * MINUTE })
    expect(Date.parse((await rig.read(id, 'events')).full_read_due_at ?? '')).toBeLessThanOrEqual(Date.now() + 10 * MINUTE)
    expect(Date.parse((await rig.read(id, 'events')).due_at ?? '')).toBeLessThanOrEqual(Date.now() + 10 * MINUTE)
  })

  it('a longer or equal setting changes nothing', async () => {
    const rig = await Rig.open(database)
    const id = await quiet(rig)
    await start(rig.db)
    const before = await rig.read(id, 'events')
    const written: string[] = []
    const db = interrupted(rig.db, (name) => written.push(name))
    await start(db, { maxMs: 24 * 60 * MINUTE }, { activeMs: 60 * 24 * 60 * MINUTE })
    expect(await rig.read(id, 'events')).toEqual(before)
    expect(written).toEqual([])
  })

  it('failing reads keep their backoff, and active reads their lease', async () => {
    const rig = await Rig.open(database)
    const id = await quiet(rig)
    await start(rig.db)
    await rig.db.write('test-failing', async (tx) => {
      await tx.sql.updateTable('sync_reads').set({ rank: 2, failures: 3 }).where('read', '=', 'events').execute()
      const lease = { lease_token: 'someone', due_at: timeFromMs(Date.now() + MINUTE) }
      await tx.sql.updateTable('sync_reads').set(lease).where('read', '=', 'thread').execute()
    })
    const before = [await rig.read(id, 'events'), await rig.read(id, 'thread')].map((row) => row.due_at)
    await start(rig.db, { maxMs: 10 * MINUTE })
    expect([await rig.read(id, 'events'), await rig.read(id, 'thread')].map((row) => row.due_at)).toEqual(before)
  })
})
