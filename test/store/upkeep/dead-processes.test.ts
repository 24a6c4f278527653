import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { claimDeliveries, settleDeliveries } from '../../../src/store/inbox/work.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { claimReads } from '../../../src/store/reads/claims.ts'
import { addReads, rank } from '../../../src/store/reads/reads.ts'
import { releaseClaimsOfDeadProcesses } from '../../../src/store/upkeep/dead-processes.ts'
import { listProcesses, recordHeartbeat } from '../../../src/store/upkeep/processes.ts'
import { openAgain, runSql, testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'

const LEASE_MS = 60_000
const ACCOUNT = 'acme'

const entryOf = (db: Db) => ({ id: db.processId, role: 'work' as const, version: '0.0.0' })

async function lastSeen(db: Db, { processId }: Db, agoMs: number): Promise<void> {
  await runSql(db, sql`update sync_processes set seen_at = ${timeFromMs(Date.now() - agoMs)} where process_id = ${processId}`)
}

describe.each(testDatabases)('claims of a dead process, on $name', (database) => {
  async function twoProcesses(): Promise<readonly [Db, Db]> {
    const opened = await database.open()
    const other = await openAgain(opened.config)
    onTestFinished(async () => {
      await other.close()
      await opened.close()
    })
    await ensureAccounts(other, [ACCOUNT])
    for (const db of [opened.db, other]) await recordHeartbeat(db, entryOf(db))
    const delivery = (n: number) => ({ account: ACCOUNT, deliveryId: `msg_${n}`, receivedAt: timeFromMs(0), headers: {}, secret: 1 })
    await new InboxAppender(other).append([1, 2].map((n) => ({ ...delivery(n), body: Buffer.from('{}') })))
    await other.write('test', (tx) => addReads(tx, [{ account: ACCOUNT, submissionId: uuid(9, 1) }], timeFromMs(Date.now() - 1_000), false))
    return [opened.db, other]
  }
  const deliveriesOf = (db: Db, limit: number) => claimDeliveries(db, limit, LEASE_MS)
  const readsOf = (db: Db, limit: number) => claimReads(db, { account: ACCOUNT, rank: rank.routine, limit, leaseMs: LEASE_MS })

  it('is released before its leases end, and can no longer be settled by that process', async () => {
    const [dead, living] = await twoProcesses()
    const [lost] = await deliveriesOf(dead, 2)
    expect(await readsOf(dead, 3)).toHaveLength(3)
    await lastSeen(living, dead, 60_000)
    expect(await living.write('test', releaseClaimsOfDeadProcesses)).toEqual([{ processId: dead.processId, deliveries: 2, reads: 3 }])
    expect((await listProcesses(living.read)).map((process) => process.process_id)).toEqual([living.processId])
    expect(await readsOf(living, 3)).toHaveLength(3)
    expect(await deliveriesOf(living, 2)).toHaveLength(2)
    if (!lost) throw new Error('nothing was claimed')
    const late = { delivery: lost, state: 'done' as const, submissionId: null, kind: null, error: null }
    await expect(dead.write('test', (tx) => settleDeliveries(tx, [late]))).rejects.toThrow(LeaseLostError)
    expect(await living.write('test', releaseClaimsOfDeadProcesses)).toEqual([])
  })

  it('are distinguished from claims of live processes', async () => {
    const [dead, living] = await twoProcesses()
    expect(await deliveriesOf(dead, 1)).toHaveLength(1)
    expect(await deliveriesOf(living, 1)).toHaveLength(1)
    expect(await readsOf(living, 3)).toHaveLength(3)
    await lastSeen(living, dead, 60_000)
    expect(await living.write('test', releaseClaimsOfDeadProcesses)).toEqual([{ processId: dead.processId, deliveries: 1, reads: 0 }])
    expect((await deliveriesOf(living, 2)).map((delivery) => delivery.deliveryId)).toEqual(['msg_1'])
    expect(await readsOf(living, 3)).toEqual([])
  })

  it('exclude those of a process that sends a heartbeat after the clock was set forward', async () => {
    const [, living] = await twoProcesses()
    expect(await deliveriesOf(living, 2)).toHaveLength(2)
    await lastSeen(living, living, 60_000)
    expect(await recordHeartbeat(living, entryOf(living), releaseClaimsOfDeadProcesses)).toEqual([])
    expect(await deliveriesOf(living, 2)).toEqual([])
  })
})
