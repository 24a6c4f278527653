import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DestinationRow, findDestination, listDestinations } from '../../src/store/outbox/destinations.ts'
import { ACCOUNT } from '../crash/checks.ts'
import { addNews, addWork } from '../crash/load.ts'
import type { CrashPlace } from '../crash/place.ts'
import { CrashRig } from '../crash/rig.ts'
import { waitFor } from '../e2e/agreement.ts'
import { until } from '../tools/until.ts'
import { CUSTOMER_NUMBER } from './ams.ts'
import { World } from './world.ts'

const SEED = 'chaos 1'
const NAMES = ['hook', 'wary', 'denied', 'gone', 'rest', 'soap', 'ams360', 'epic', 'hawksoft', 'folder', 'sftp']
/** Destinations that a duplicate harms and that have no lookup. */
const BLIND = ['wary', 'ams360', 'hawksoft']
/** Requests before the process is killed. */
const SOME = 60
const SUSPENDED = ['rest', 'epic', 'hawksoft']

/** Pushes to every kind of destination while everything fails, including the product. */
export function chaosSuite(name: string, place: () => Promise<CrashPlace>): void {
  describe(`chaos on ${name}`, () => {
    let world: World
    let rig: CrashRig
    let withdrawn: readonly DestinationRow[] = []

    beforeAll(async () => {
      world = await World.open(SEED)
      rig = await CrashRig.open(await place(), world)
      await rig.start()
      await loaded(rig, world)
      await rig.kill()
      await rig.recover()
      for (const target of world.targets) target.withdraw?.()
      await loaded(rig, world)
      const suspended = async () =>
        (await listDestinations((await rig.store()).read)).filter(
          ({ destination, state }) => destination !== 'gone' && state === 'suspended',
        )
      await until('destinations are suspended', async () => {
        // A stream behind an unknown push would never continue.
        await world.settle(await rig.store())
        const names = (await suspended()).map(({ destination }) => destination)
        return SUSPENDED.every((name) => names.includes(name))
      })
      await rig.restart()
      withdrawn = await suspended()
      for (const target of world.targets) target.giveBack?.()
      await world.resume(await rig.store(), SUSPENDED)
      for (let kills = 0; kills < 2; kills++) {
        await loaded(rig, world)
        await rig.kill()
        await rig.recover()
      }
      const db = await rig.store()
      await until('a destination is suspended', async () => (await findDestination(db.read, 'gone'))?.state === 'suspended')
      await until('everything went wrong that was to', async () => {
        await world.settle(db)
        return world.targets.every((target) => target.left() === 0)
      })
      for (const target of world.targets) target.heal()
      await world.resume(db, ['gone'])
      const isDone = async () => {
        await world.settle(db)
        return await world.isDone(db)
      }
      const done = await waitFor(isDone)
      expect(done, `something waits: ${JSON.stringify(await listDestinations(db.read))}`).toBe(true)
    })
    afterAll(() => rig?.close())

    it.each(NAMES)('%s has each change under one id, in the order of its submission', async (destination) => {
      expect(await world.faults(await rig.store(), world.find(destination))).toEqual([])
    })

    it('every planned fault occurred', () => {
      expect(world.targets.filter((target) => target.left() > 0).map(({ destination }) => destination.name)).toEqual([])
    })

    it('a destination that is gone is suspended, with an alarm', () => {
      expect(rig.errors.filter((line) => line.includes('destination gone is suspended'))).not.toEqual([])
    })

    it('destinations with a withdrawn credential were suspended, with an alarm, until they were resumed', () => {
      // An unwritable SFTP folder may be suspended then, too.
      expect(withdrawn.map(({ destination }) => destination)).toEqual(expect.arrayContaining([...SUSPENDED]))
      for (const destination of SUSPENDED) expect(rig.errors.join('\n')).toContain(`destination ${destination} is suspended`)
    })

    it('only dead letters and unknown outcomes are left to a person', () => {
      for (const destination of NAMES) {
        const { dead, unknown } = world.settled.get(destination) ?? { dead: 0, unknown: 0 }
        expect([destination, dead > 0]).toEqual([destination, destination === 'denied'])
        // Which of them lost an answer depends on the moment of the kill.
        if (!BLIND.includes(destination)) expect([destination, unknown]).toEqual([destination, 0])
      }
    })
  })
}

/** Adds submissions, changes and mappings, some still in transit. */
async function loaded(rig: CrashRig, world: World): Promise<void> {
  const before = world.arrived
  const known = rig.sandbox.submissionIds(ACCOUNT)
  const added = [addWork(rig), addWork(rig)]
  for (const id of added) rig.sandbox.setFacts(ACCOUNT, id, { insured_name: String(CUSTOMER_NUMBER) })
  for (const id of known) addNews(rig, id)
  await world.map(await rig.store(), added)
  await until(`${SOME} more arrive`, async () => world.arrived >= before + SOME)
}
