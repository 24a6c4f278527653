import { describe, expect, it } from 'vitest'
import { lanes } from '../../src/model/entities/lanes.ts'
import { onSqlite } from '../tools/databases.ts'
import { rowsOf } from '../tools/mirror.ts'
import { policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

/** A submission whose lane was changed in the mirror: any comparison finds it. */
async function meddledWith(rig: Rig): Promise<{ id: string; laneId: string }> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  const laneId = rig.sandbox.addLane(ACCOUNT, id).rail.submission_market_id
  rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', lane_id: laneId })
  await rig.track([id])
  await rig.poll()
  await rig.passAndRest(policy.poll.maxMs)
  await rig.db.write('test', (tx) => tx.sql.updateTable('lanes').set({ market_name: 'by hand' }).execute())
  return { id, laneId }
}

const names = async (rig: Rig) => (await rowsOf(rig.db, lanes)).map(({ market_name }) => market_name)

describe.each(onSqlite)('the hash of a state read, on $name', (database) => {
  it('skips the comparison of equal content', async () => {
    const rig = await Rig.open(database)
    const { id } = await meddledWith(rig)
    const asked = rig.asked('requirements', id).length
    await rig.passAndRest(policy.poll.maxMs)
    expect(rig.asked('requirements', id).length).toBe(asked + 1)
    expect(await names(rig)).toEqual(['by hand'])
  })

  it('compares any changed content', async () => {
    const rig = await Rig.open(database)
    const { id } = await meddledWith(rig)
    rig.sandbox.setFacts(ACCOUNT, id, { marketing_hint: 'Two markets wait for loss runs' })
    await rig.passAndRest(policy.poll.maxMs)
    expect(await names(rig)).not.toEqual(['by hand'])
  })

  it('compares after other changes of the submission', async () => {
    const rig = await Rig.open(database)
    const { id } = await meddledWith(rig)
    rig.sandbox.addMessage(ACCOUNT, id, { body_text: 'Any news?' }, { quiet: true })
    await rig.passAndRest(policy.poll.maxMs)
    await rig.passAndRest(policy.poll.maxMs)
    expect(await names(rig)).not.toEqual(['by hand'])
  })

  it('is ignored after a read by a program without hashes', async () => {
    const rig = await Rig.open(database)
    await meddledWith(rig)
    await rig.db.write('test', (tx) =>
      tx.sql
        .updateTable('sync_reads')
        .set((eb) => ({ applied_no: eb('applied_no', '+', 1) }))
        .execute(),
    )
    await rig.passAndRest(policy.poll.maxMs)
    expect(await names(rig)).not.toEqual(['by hand'])
  })
})
