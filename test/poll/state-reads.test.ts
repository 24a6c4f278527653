import { describe, expect, it } from 'vitest'
import { stateReadNames } from '../../src/config/schema/state-reads.ts'
import { insureds } from '../../src/model/entities/insureds.ts'
import { policies } from '../../src/model/entities/policies.ts'
import { optionalReads } from '../../src/model/reads.ts'
import { readsStatus } from '../../src/store/upkeep/status.ts'
import { onSqlite } from '../tools/databases.ts'
import { rowsOf } from '../tools/mirror.ts'
import { DAY, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

it('STATE_READS lists every state read', () => {
  expect([...stateReadNames]).toEqual(['requirements', ...optionalReads, 'document'])
})

describe.each(onSqlite)('configured state reads, on $name', (database) => {
  const asked = (rig: Rig, operation: string) => rig.sandbox.activity.requests.filter((request) => request.operation === operation).length

  it('are carried out; others are neither carried out nor late', async () => {
    const rig = await Rig.open(database, { stateReads: ['workspace', 'bind_request', 'policy'] })
    const { id } = rig.addBound(ACCOUNT)
    await rig.track([id])
    rig.startPoller()
    rig.startIdReads()
    await rig.until('its policy is read', async () => (await rowsOf(rig.db, policies)).length > 0)
    await rig.rest()
    await rig.until('nothing is overdue', async () => (await readsStatus(rig.db.read))(ACCOUNT).reads.overdue === 0)
    expect([asked(rig, 'sessions'), asked(rig, 'outstanding'), asked(rig, 'insured')]).toEqual([0, 0, 0])
    expect(asked(rig, 'workspace')).toBeGreaterThan(0)
    expect(asked(rig, 'requirements')).toBeGreaterThan(0)
    await rig.passAndRest(2 * DAY)
    expect([asked(rig, 'sessions'), asked(rig, 'outstanding'), asked(rig, 'insured')]).toEqual([0, 0, 0])
  })

  it('are carried out immediately when listed again', async () => {
    const rig = await Rig.open(database, { stateReads: ['workspace'] })
    const { id } = rig.addBound(ACCOUNT)
    await rig.track([id])
    const before = [rig.startPoller(), rig.startIdReads()]
    await rig.rest()
    await Promise.all(before.map((one) => one.stop()))
    await rig.list([...optionalReads])
    rig.startPoller()
    rig.startIdReads()
    await rig.until('sessions are read', async () => (await rig.read(id, 'sessions')).last_read_at !== null)
    await rig.until('its insured is read', async () => (await rowsOf(rig.db, insureds)).length > 0)
  })
})
