import { expect, it } from 'vitest'
import { logFaults, recordIds, waitFor } from '../e2e/agreement.ts'
import { endLeases } from '../e2e/time.ts'
import { isNightly } from '../tools/nightly.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { destinationReport } from './destination-log.ts'
import { DESTINATION, LEASE_MS, Scene } from './scene.ts'

const SWITCHES = isNightly ? 10 : 2
/** Acknowledged deliveries between two failovers, including those the standby misses. */
const SOME = 15
const LAG = 10
/** Before every other failover, a reader and the destination get changes that are then lost. */
const CHANGES = 5

it('reports what is lost with an asynchronous standby, and recovers all of it by full re-reads', { timeout: 400_000 }, async () => {
  const scene = await closedAtEnd(Scene.open({ synchronous: false }))
  const { cluster, senders, follower } = scene
  for (let switches = 0; switches < SWITCHES; switches++) {
    await senders.more(SOME)
    if (switches % 2 === 0) await follower.more(CHANGES)
    await cluster.cutOff()
    const lastSeq = await scene.lastSeq()
    const seen = switches % 2 === 0 ? [follower.reach(lastSeq + CHANGES)] : []
    // Later, a killed push may still hold a stream's lease.
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

  // Full re-reads start automatically; only leases of the killed primary are ended here.
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
  const { faults, fromLogDivergence } = await destinationReport(scene.db, DESTINATION, scene.hooks.arrivals)
  expect(faults).toEqual([])
  expect(fromLogDivergence).toBeGreaterThan(0)
  // Two failovers within a heartbeat, without a logged change in between, are one divergence.
  const [first, ...later] = await scene.epochs()
  expect([first?.reason, ...new Set(later.map(({ reason }) => reason))]).toEqual(['first', 'server'])
  expect(later.length).toBeGreaterThanOrEqual(SWITCHES / 2)
  expect(later.length).toBeLessThanOrEqual(SWITCHES)
  // The follower took back the lost changes that it had seen.
  expect(follower.counts.takenBack).toBeGreaterThan(0)
  expect(later.filter(({ after_seq, known_seq }) => (known_seq ?? 0) > after_seq)).not.toEqual([])
})
