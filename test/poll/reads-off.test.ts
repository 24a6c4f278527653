import { describe, expect, it } from 'vitest'
import { bindRequests } from '../../src/model/entities/bind-requests.ts'
import { listReadsOff } from '../../src/store/reads/reads-off.ts'
import { onSqlite } from '../tools/databases.ts'
import { rowsOf } from '../tools/mirror.ts'
import { DAY, HOUR, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

describe.each(onSqlite)('a refused read, on $name', (database) => {
  const asked = (rig: Rig, operation: string) =>
    rig.sandbox.activity.requests.filter((request) => request.operation === operation && request.account === ACCOUNT).length
  const off = async (rig: Rig) => (await listReadsOff(rig.db.read)).map(({ account, read, cause }) => [account, read, cause])

  async function track(rig: Rig, count: number, account = ACCOUNT): Promise<string[]> {
    const ids = Array.from({ length: count }, () => rig.sandbox.addSubmission(account))
    await rig.track(ids, account)
    rig.startPoller({ account })
    return ids
  }

  it.each([403, 404] as const)('with %i for several submissions is off, with one warning, and retried daily', async (status) => {
    const rig = await Rig.open(database, { accounts: ['default', 'other'] })
    rig.sandbox.faults.add({ kind: 'status', status, operation: 'sessions', account: ACCOUNT })
    const ids = await track(rig, 5)
    const others = await track(rig, 1, 'other')
    await rig.until('it is off', async () => (await off(rig)).length > 0)
    await rig.rest()
    expect(await off(rig)).toEqual([[ACCOUNT, 'sessions', 'service']])
    expect((await rig.read(others[0] ?? '', 'sessions', 'other')).last_read_at).not.toBeNull()
    const before = asked(rig, 'sessions')
    await rig.passAndRest(2 * HOUR)
    await rig.until('it is put off', async () => (await overdue(rig)) === 0)
    const soFar = asked(rig, 'sessions')
    expect(soFar - before).toBeLessThanOrEqual(1)
    await rig.pass(DAY)
    await rig.until('it is tried', () => asked(rig, 'sessions') > soFar)
    await rig.until('it is off again', async () => (await listReadsOff(rig.db.read)).some(({ retry_at }) => (retry_at ?? '') > tomorrow()))
    rig.sandbox.faults.set([])
    await rig.pass(DAY)
    for (const id of ids) await rig.until('it is read', async () => (await rig.read(id, 'sessions')).last_read_at !== null)
    await rig.until('it is on', async () => (await off(rig)).length === 0)
    expect(rig.lines('rejects the read sessions')).toHaveLength(1)
    expect(rig.lines('offers the read sessions')).toHaveLength(1)
  })

  it('for one submission, or for new ones only, stays on', async () => {
    const rig = await Rig.open(database)
    const [first = ''] = await track(rig, 2)
    await rig.rest()
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'workspace', submissionId: first })
    const fresh = Array.from({ length: 5 }, () => rig.sandbox.addSubmission(ACCOUNT))
    for (const submissionId of fresh) rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'workspace', submissionId })
    await rig.track(fresh)
    for (let tries = 0; tries < 3; tries += 1) {
      await rig.passAndRest(HOUR)
    }
    expect(await off(rig)).toEqual([])
  })

  it('by id is off too, and marks nothing as gone', async () => {
    const rig = await Rig.open(database)
    rig.sandbox.faults.add({ kind: 'status', status: 403, operation: 'bind_request' })
    for (let n = 0; n < 4; n += 1) {
      const { id } = rig.addBound(ACCOUNT)
      await rig.track([id])
    }
    rig.startPoller()
    rig.startIdReads()
    await rig.until('it is off', async () => (await off(rig)).length > 0)
    expect(await off(rig)).toEqual([[ACCOUNT, 'bind_request', 'service']])
    rig.sandbox.faults.set([])
    await rig.pass(DAY)
    await rig.until('they are read', async () => (await rowsOf(rig.db, bindRequests)).length === 4)
    await rig.until('it is on', async () => (await off(rig)).length === 0)
  })

  function tomorrow(): string {
    return new Date(Date.now() + DAY - HOUR).toISOString()
  }

  async function overdue(rig: Rig): Promise<number> {
    const now = new Date().toISOString()
    const rows = await rig.db.read.sql.selectFrom('sync_reads').select('due_at').where('account', '=', ACCOUNT).execute()
    return rows.filter(({ due_at }) => due_at !== null && due_at <= now).length
  }
})
