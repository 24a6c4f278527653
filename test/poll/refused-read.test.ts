import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import { findAccount } from '../../src/store/reads/accounts.ts'
import { onSqlite } from '../tools/databases.ts'
import { Rig } from '../tools/poller.ts'

const RETRY_MS = 900_000
const READS = ['events', 'thread', 'requirements'] as const

function refuse(rig: Rig, submissionId?: string): void {
  for (const operation of READS) {
    const status = operation === 'events' ? 401 : 403
    rig.sandbox.faults.add({ kind: 'status', status, operation, ...(submissionId && { submissionId }) })
  }
}

const readsMade = (rig: Rig) => READS.reduce((sum, read) => sum + rig.asked(read).length, 0)

const account = (rig: Rig) => findAccount(rig.db.read, 'default')

/** Refuses every read of a submission `times` times. */
async function failOften(rig: Rig, id: string, times: number): Promise<void> {
  for (let n = 1; n <= times; n += 1) {
    await rig.until('all were refused', async () => {
      const rows = await Promise.all(READS.map((read) => rig.read(id, read)))
      return (await account(rig))?.state !== 'active' || rows.every((row) => row.failures >= n)
    })
    await makeDue(rig, id)
  }
}

async function makeDue(rig: Rig, id: string): Promise<void> {
  const due = { due_at: timeFromMs(Date.now() - 1) }
  await rig.db.write('test-due', (tx) => tx.sql.updateTable('sync_reads').set(due).where('submission_id', '=', id).execute())
  rig.db.signals.notify('reads')
}

describe.each(onSqlite)('a refused read on $name', (database) => {
  it('trap 39: stops nothing else while the identity is known', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission('default')
    rig.sandbox.faults.add({ kind: 'status', status: 401, operation: 'thread', count: 2 })
    await rig.track([id])
    rig.startPoller()
    await rig.until('the read failed', async () => (await rig.read(id, 'thread')).failures > 0)
    await rig.until('the service was asked who we are', () => rig.asked('me').length >= 2)
    await rig.until('the others were read', async () => (await rig.read(id, 'events')).last_read_at !== null)
    expect(await account(rig)).toMatchObject({ state: 'active' })
    await rig.pass(60_000)
    await rig.until('it is read again', async () => (await rig.read(id, 'thread')).last_read_at !== null)
    expect(await rig.read(id, 'thread')).toMatchObject({ failures: 0, error: null })
  })

  it('trap 43: suspends the account if every read is refused; few requests follow, and it resumes automatically', async () => {
    const rig = await Rig.open(database)
    const ids = Array.from({ length: 12 }, () => rig.sandbox.addSubmission('default'))
    refuse(rig)
    await rig.track(ids)
    rig.startPoller()
    await rig.until('it is suspended', async () => (await account(rig))?.state === 'suspended')
    await rig.idle()
    const suspended = await account(rig)
    expect(suspended?.reason).toMatch(/^the service accepts the credentials, but rejects every read .*the service answered 403.*broker_mcp/)
    expect(readsMade(rig)).toBeLessThan(50)
    expect(rig.asked('token').length).toBeLessThanOrEqual(3)

    const [reads, tokens] = [readsMade(rig), rig.asked('token').length]
    await rig.pass(RETRY_MS)
    await rig.until('it tried again', async () => Date.parse((await account(rig))?.retry_at ?? '') > Date.now() + RETRY_MS / 2)
    expect(await account(rig)).toMatchObject({ state: 'suspended', reason: suspended?.reason, since: suspended?.since })
    expect(readsMade(rig) - reads).toBeLessThanOrEqual(6)
    expect(rig.asked('token').length - tokens).toBeLessThanOrEqual(1)

    rig.sandbox.faults.set([])
    await rig.pass(RETRY_MS)
    await rig.until('it is active', async () => (await account(rig))?.state === 'active')
    await rig.passAndRest(60_000)
    for (const id of ids) expect(await rig.read(id, 'events')).toMatchObject({ failures: 0, error: null })
  })

  it('trap 43: of one submission stops nothing while others are read', async () => {
    const rig = await Rig.open(database)
    const [id = '', other = ''] = [rig.sandbox.addSubmission('default'), rig.sandbox.addSubmission('default')]
    await rig.track([id, other])
    const poller = await rig.poll()
    await poller.stop()
    refuse(rig, id)
    await makeDue(rig, id)
    const before = rig.asked('requirements', other).length
    rig.startPoller()
    await failOften(rig, id, 6)
    await rig.until('another was asked', () => rig.asked('requirements', other).length > before)
    await rig.idle()
    expect(await account(rig)).toMatchObject({ state: 'active' })
  })

  it("trap 43: of an account's only submission suspends it", async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission('default')
    refuse(rig)
    await rig.track([id])
    rig.startPoller()
    await failOften(rig, id, 5)
    await rig.until('it is suspended', async () => (await account(rig))?.state === 'suspended')
  })
})
