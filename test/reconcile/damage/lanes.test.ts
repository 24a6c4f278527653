import { describe, expect, it } from 'vitest'
import { lanes } from '../../../src/model/entities/lanes.ts'
import { onSqlite } from '../../tools/databases.ts'
import { rowsOf } from '../../tools/mirror.ts'
import { uuid } from '../../tools/observations.ts'
import { ACCOUNT, DamageRig, findingTexts } from './rig.ts'

const laneOfEvents = uuid(20, 1)

describe.each(onSqlite)('a lane without its source, on $name', (database) => {
  async function findsTheSource(rig: DamageRig, lane: string, damage: string): Promise<void> {
    const before = await rowsOf(rig.db, lanes)
    await rig.damage(`update lanes set ${damage} where lane_id = '${lane}'`)
    const found = [`different lanes ${lane} (${damage.split(' ')[0]})`]
    const dry = await rig.reconcile('--dry-run')
    expect({ code: dry.code, found: findingTexts(dry.findings) }).toEqual({ code: 3, found })
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({ code: 0, found })
    expect(await rowsOf(rig.db, lanes)).toEqual(before)
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  }

  it.each(['rich', 'plain'] as const)('known only from events, with or without a rail: %s', async (which) => {
    const rig = await DamageRig.open(database)
    rig.sandbox.addEvent(ACCOUNT, rig[which], { type: 'market_attached', lane_id: laneOfEvents })
    await rig.command('sync', rig[which])
    await findsTheSource(rig, laneOfEvents, "state_source = 'rail'")
  })

  it('known from the rail, which no longer has it', async () => {
    const rig = await DamageRig.open(database)
    const lane = String(rig.sandbox.truth(ACCOUNT, rig.rich)[0]?.requirements.rail?.lanes[1]?.submission_market_id)
    rig.sandbox.world.submission(ACCOUNT, rig.rich).hideLane(lane)
    await rig.command('sync', rig.rich)
    await findsTheSource(rig, lane, "state_source = 'event'")
  })
})
