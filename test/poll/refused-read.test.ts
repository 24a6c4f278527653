import { describe, expect, it } from 'vitest'
import { findAccount } from '../../src/store/accounts.ts'
import { testDatabases } from '../tools/databases.ts'
import { Rig } from '../tools/poller.ts'

describe.each(testDatabases)('a read that is refused on $name', (database) => {
  it('trap 39: stops nothing but itself as long as the service says who we are', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission('default')
    // Refused with the token that was just renewed too.
    rig.sandbox.faults.add({ kind: 'status', status: 401, operation: 'thread', count: 2 })
    await rig.track([id])
    rig.startPoller()
    await rig.until('the read failed', async () => (await rig.read(id, 'thread')).failures === 1)
    await rig.until('the service was asked who we are', () => rig.asked('me').length >= 2)
    await rig.until('the others were read', async () => (await rig.read(id, 'events')).last_read_at !== null)
    expect(await findAccount(rig.db.read, 'default')).toMatchObject({ state: 'active' })
    await rig.pass(60_000)
    await rig.until('it is read again', async () => (await rig.read(id, 'thread')).last_read_at !== null)
    expect(await rig.read(id, 'thread')).toMatchObject({ failures: 0, error: null })
  })
})
