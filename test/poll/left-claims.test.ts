import { expect, it } from 'vitest'
import { TransientError } from '../../src/base/errors.ts'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { readKinds } from '../../src/model/reads.ts'
import { READ_LEASE_MS } from '../../src/poll/claimed-read.ts'
import { claimReads } from '../../src/store/reads/claims.ts'
import { recordHeartbeat } from '../../src/store/upkeep/processes.ts'
import { sqliteDatabase, testDatabases } from '../tools/databases.ts'
import { meddled } from '../tools/meddled.ts'
import { rowsOf } from '../tools/mirror.ts'
import { Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

async function claimed(rig: Rig): Promise<string> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached' })
  await rig.track([id])
  const claims = await claimReads(rig.db, { account: ACCOUNT, submissionIds: [id], limit: 3, leaseMs: READ_LEASE_MS })
  expect(claims).toHaveLength(3)
  return id
}

it('on SQLite a start immediately repeats the reads of a killed process', async () => {
  const rig = await Rig.open(sqliteDatabase)
  await claimed(rig)
  rig.startPoller()
  await rig.until('it is read', async () => (await rowsOf(rig.db, marketEvents)).length === 1)
})

it('a start keeps the claims of a running command', async () => {
  const rig = await Rig.open(sqliteDatabase)
  const id = await claimed(rig)
  await recordHeartbeat(rig.db, { id: 'beside', role: 'sync', version: '1.2.3' })
  const other = rig.sandbox.addSubmission(ACCOUNT)
  rig.sandbox.addEvent(ACCOUNT, other, { type: 'market_attached' })
  await rig.track([other])
  rig.startPoller()
  await rig.until('the other one is read', async () => (await rig.read(other, 'requirements')).last_read_at !== null)
  expect((await rig.read(id, 'events')).lease_token).not.toBeNull()
  expect(rig.asked('events', id)).toEqual([])
})

it.each(testDatabases)('a stopped poller releases its reads unchanged, on $name', async (database) => {
  const rig = await Rig.open(database)
  const id = rig.sandbox.addSubmission(ACCOUNT)
  for (const operation of readKinds) rig.sandbox.faults.add({ kind: 'hang', operation })
  await rig.track([id])
  const poller = rig.startPoller({ concurrency: 1 })
  await rig.until('it is asked for', () => readKinds.some((read) => rig.asked(read, id).length > 0))
  await poller.stop()
  for (const read of readKinds) expect(await rig.read(id, read)).toMatchObject({ lease_token: null, failures: 0, error: null })
})

it.each(testDatabases)(
  'reads that could not be released while the database was away are released when it answers, on $name',
  async (database) => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached' })
    await rig.track([id])
    let isAway = false
    const leased = async () =>
      (await rig.db.read.sql.selectFrom('sync_reads').select('read').where('lease_token', 'is not', null).execute()).length
    const afterReleases: number[] = []
    const db = meddled(rig.db, async (name, go) => {
      // The database fails during the first read, whose claim stays.
      if (name === 'feed-page') isAway = true
      if (isAway) throw new TransientError('the database is away')
      const result = await go()
      if (name === 'read-release') afterReleases.push(await leased())
      return result
    })
    const running = rig.startPoller({ db })
    await rig.until('the database is away', () => isAway)
    await expect(running.stop()).rejects.toThrow('the database is away')
    expect(await leased()).toBeGreaterThan(0)
    isAway = false
    afterReleases.splice(0)
    rig.startPoller({ db: meddled(db, (_, go) => go()) })
    await rig.until('the reads are released', () => afterReleases.length > 0)
    expect(afterReleases[0]).toBe(0)
  },
)
