import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { finding } from '../../../src/reconcile/check/finding.ts'
import { Recorder } from '../../../src/reconcile/check/recorder.ts'
import { releaseRun } from '../../../src/store/reconcile/claims.ts'
import { findRun } from '../../../src/store/reconcile/runs.ts'
import { testDatabases } from '../../tools/databases.ts'
import { meddled } from '../../tools/meddled.ts'
import { uuid } from '../../tools/observations.ts'
import { RunRig } from '../rig.ts'

it.each(testDatabases)(
  'how far a run is is stored once at a time, and what could not be stored with the next, on $name',
  async (database) => {
    const rig = await RunRig.open(database, 1)
    const [submissionId = ''] = rig.ids
    const order: string[] = []
    const db = meddled(rig.db, async (name, go) => {
      if (name !== 'reconcile-progress') return go()
      order.push('begun')
      await turn()
      if (order.length === 1) {
        order.push('failed')
        throw new TransientError('the store is away')
      }
      const result = await go()
      order.push('stored')
      return result
    })
    const claim = await rig.claim()
    const recorder = await Recorder.open(db, db.clock, claim)
    await recorder.recordVisit({ submissionId, at: timeFromMs(db.clock.now()), isReconciled: true }, 3)
    const [first, second] = [recorder.save(), recorder.save()]
    await expect(first).rejects.toThrow('the store is away')
    await second
    expect(order).toEqual(['begun', 'failed', 'begun', 'stored'])
    const visited = () => rig.db.read.sql.selectFrom('sync_reconciled').select('submission_id').execute()
    expect(await visited()).toEqual([{ submission_id: submissionId }])
    expect(await findRun(rig.db.read, claim.run.run_id)).toMatchObject({ submissions_done: 1, rows_compared: 3 })
    // Visits are stored once, and many are stored automatically.
    await rig.db.write('test', (tx) => tx.sql.deleteFrom('sync_reconciled').execute())
    await recorder.save()
    expect(await visited()).toEqual([])
    for (let n = 0; n < 250; n += 1) {
      await recorder.recordVisit({ submissionId: uuid(7, n), at: timeFromMs(db.clock.now()), isReconciled: true }, 1)
    }
    expect(await visited()).toHaveLength(250)
    expect(recorder.counts).toMatchObject({ submissions_done: 251, submissions_total: 251 })
  },
)

it.each(testDatabases)('findings count even if storing the progress failed, on $name', async (database) => {
  const rig = await RunRig.open(database, 1)
  const claim = await rig.claim()
  const missing = (entityId: string) => finding({ kind: 'missing', entity: 'market_events', entityId, repaired: true, detail: 'missing' })
  await (await Recorder.open(rig.db, rig.db.clock, claim)).recordInBatches([missing('one'), missing('two')])
  await releaseRun(rig.db, claim)
  const again = await Recorder.open(rig.db, rig.db.clock, await rig.claim())
  expect(again.counts).toMatchObject({ missing: 2, repaired: 2 })
  await again.recordInBatches([missing('three')])
  expect(again.counts).toMatchObject({ missing: 3, repaired: 3 })
})
