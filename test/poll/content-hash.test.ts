import { describe, expect, it } from 'vitest'
import { lanes } from '../../src/model/entities/lanes.ts'
import { onSqlite } from '../tools/databases.ts'
import { rowsOf } from '../tools/mirror.ts'
import { policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

/** A submission with a lane, read to its end, and the mirror's row of the lane changed by hand: whoever compares sees it. */
async function meddledWith(rig: Rig): Promise<{ id: string; laneId: string }> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  const laneId = rig.sandbox.addLane(ACCOUNT, id).rail.submission_market_id
  rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', lane_id: laneId })
  await rig.track([id])
  rig.startPoller()
  await rig.rest()
  // The first read comes before the lane's; from here on nothing changes.
  await rig.pass(policy.poll.maxMs)
  await rig.rest()
  await rig.db.write('test', (tx) => tx.sql.updateTable('lanes').set({ market_name: 'by hand' }).execute())
  return { id, laneId }
}

const names = async (rig: Rig) => (await rowsOf(rig.db, lanes)).map(({ market_name }) => market_name)

describe.each(onSqlite)('what a state read shows, by its hash, on $name', (database) => {
  it('is not compared when it is the same again', async () => {
    const rig = await Rig.open(database)
    const { id } = await meddledWith(rig)
    const asked = rig.asked('requirements', id).length
    await rig.pass(policy.poll.maxMs)
    await rig.rest()
    expect(rig.asked('requirements', id).length).toBe(asked + 1)
    expect(await names(rig)).toEqual(['by hand'])
  })

  it('is compared when anything of it is other', async () => {
    const rig = await Rig.open(database)
    const { id } = await meddledWith(rig)
    rig.sandbox.setFacts(ACCOUNT, id, { marketing_hint: 'Two markets wait for loss runs' })
    await rig.pass(policy.poll.maxMs)
    await rig.rest()
    expect(await names(rig)).not.toEqual(['by hand'])
  })

  it('is compared when anything else has changed of the submission since', async () => {
    const rig = await Rig.open(database)
    const { id } = await meddledWith(rig)
    rig.sandbox.addMessage(ACCOUNT, id, { body_text: 'Any news?' }, { quiet: true })
    await rig.pass(policy.poll.maxMs)
    await rig.rest()
    await rig.pass(policy.poll.maxMs)
    await rig.rest()
    expect(await names(rig)).not.toEqual(['by hand'])
  })

  it('says nothing behind a read that another program applied, which knows no hashes', async () => {
    const rig = await Rig.open(database)
    await meddledWith(rig)
    await rig.db.write('test', (tx) =>
      tx.sql
        .updateTable('sync_reads')
        .set((eb) => ({ applied_no: eb('applied_no', '+', 1) }))
        .execute(),
    )
    await rig.pass(policy.poll.maxMs)
    await rig.rest()
    expect(await names(rig)).not.toEqual(['by hand'])
  })
})
