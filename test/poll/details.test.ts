import { describe, expect, it } from 'vitest'
import { submissions } from '../../src/model/entities/submissions.ts'
import { detailReads } from '../../src/model/reads.ts'
import { findAccount } from '../../src/store/reads/accounts.ts'
import { listReadsOff } from '../../src/store/reads/reads-off.ts'
import { onSqlite, testDatabases } from '../tools/databases.ts'
import { rowsOf } from '../tools/mirror.ts'
import { HOUR, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

async function track(rig: Rig, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => rig.sandbox.addSubmission(ACCOUNT))
  await rig.track(ids)
  await rig.poll()
  return ids
}

describe.each(testDatabases)('detail reads on $name', (database) => {
  it.each(database.name === 'sqlite' ? [403, 404] : [403])(
    'that are refused with %i mark nothing, suspend nothing, and are asked again',
    async (status) => {
      const rig = await Rig.open(database)
      for (const operation of detailReads) rig.sandbox.faults.add({ kind: 'status', status, operation })
      const ids = await track(rig, 6)
      for (const waitMs of [120_000, HOUR]) {
        await rig.passAndRest(waitMs)
      }
      expect((await rowsOf(rig.db, submissions)).map(({ unreachable_since }) => unreachable_since)).toEqual(ids.map(() => null))
      expect((await findAccount(rig.db.read, ACCOUNT))?.state).toBe('active')
      rig.sandbox.faults.set([])
      await rig.passAndRest(24 * HOUR)
      for (const id of ids) expect((await rig.read(id, 'workspace'))?.last_read_at).not.toBeNull()
    },
  )
})

describe.each(onSqlite)('detail reads on $name', (database) => {
  const asked = (rig: Rig, operation: string) => rig.sandbox.activity.requests.filter((request) => request.operation === operation).length

  it('answered with 401 are retried like other failures, since 401 concerns the token', async () => {
    const rig = await Rig.open(database)
    for (const operation of detailReads) rig.sandbox.faults.add({ kind: 'status', status: 401, operation })
    const ids = await track(rig, 6)
    for (const waitMs of [120_000, HOUR]) {
      await rig.passAndRest(waitMs)
    }
    expect(await listReadsOff(rig.db.read)).toEqual([])
    rig.sandbox.faults.set([])
    await rig.passAndRest(HOUR / 4)
    for (const id of ids) expect((await rig.read(id, 'workspace'))?.last_read_at).not.toBeNull()
  })

  it('trap 80: are timed, and rarer than the requirements view', async () => {
    const rig = await Rig.open(database)
    const [id = ''] = await track(rig, 1)
    for (let hour = 0; hour < 24; hour += 1) {
      await rig.passAndRest(HOUR)
    }
    for (const operation of detailReads) {
      expect(asked(rig, operation)).toBeGreaterThan(1)
      expect(asked(rig, operation)).toBeLessThan(asked(rig, 'requirements'))
    }
    expect((await rig.read(id, 'sessions'))?.last_read_at).not.toBeNull()
  })
})
