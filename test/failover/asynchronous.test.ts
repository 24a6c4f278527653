import { expect, it, onTestFinished } from 'vitest'
import { logFaults, recordIds, waitFor } from '../e2e/agreement.ts'
import { endLeases } from '../e2e/time.ts'
import { isNightly } from '../tools/nightly.ts'
import { destinationReport } from './destination-log.ts'
import { DESTINATION, LEASE_MS, Scene } from './scene.ts'

const SWITCHES = isNightly ? 10 : 2
/** Acknowledged deliveries between two switches, and those that the standby does not get. */
const SOME = 15
const LAG = 10
/** Before each other switch a reader and the destination get changes that are then lost. */
const CHANGES = 5

it('tells what is lost with an asynchronous standby, and finds all of it again by replays', { timeout: 400_000 }, async () => {
  const scene = await Scene.open({ synchronous: false })
  onTestFinished(() => scene.close())
  const { cluster, senders, follower } = scene
  for (let switches = 0; switches < SWITCHES; switches++) {
    await senders.more(SOME)
    if (switches % 2 === 0) await follower.more(CHANGES)
    await cluster.cutOff()
    const lastSeq = await scene.lastSeq()
    const seen = switches % 2 === 0 ? [follower.reach(lastSeq + CHANGES)] : []
    // Later a lane may be leased by a push whose end the killed server did not learn of.
    if (switches === 0) seen.push(scene.pushedBehind(lastSeq))
    await Promise.all([senders.more(LAG), ...seen])
    await cluster.fail()
    await cluster.bringBack()
  }
  await senders.more(SOME)
  await senders.stop()
  scene.sandbox.faults.set([])
  const lost = await scene.lost()
  expect(lost.length).toBeGreaterThanOrEqual(SWITCHES * LAG - 1)

  // Replays begin by themselves: nothing here makes any due, but for what was claimed when a primary was killed.
  await endLeases(scene.db, LEASE_MS)
  const isFound = await waitFor(async () => {
    const mirrored = await recordIds(scene.db, 'default')
    return senders.acknowledged.every(({ messageId }) => mirrored.has(messageId))
  })
  expect(isFound, 'everything acknowledged is in the mirror').toBe(true)
  await scene.settle()
  expect(senders.wrong).toEqual([])
  expect(await logFaults(scene.db)).toEqual([])
  expect(await scene.follower.end()).toEqual([])
  const { faults, fromLostBranches } = await destinationReport(scene.db, DESTINATION, scene.hooks.arrivals)
  expect(faults).toEqual([])
  expect(fromLostBranches).toBeGreaterThan(0)
  // Two switches within a heartbeat, between which nothing was logged, are one break of the log.
  const [first, ...later] = await scene.epochs()
  expect([first?.reason, ...new Set(later.map(({ reason }) => reason))]).toEqual(['first', 'server'])
  expect(later.length).toBeGreaterThanOrEqual(SWITCHES / 2)
  expect(later.length).toBeLessThanOrEqual(SWITCHES)
  // Whoever saw a change that was lost was told so.
  expect(follower.told.takenBack).toBeGreaterThan(0)
  expect(later.filter(({ after_seq, known_seq }) => (known_seq ?? 0) > after_seq)).not.toEqual([])
})
