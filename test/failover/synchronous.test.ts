import { expect, it } from 'vitest'
import { logFaults, recordIds } from '../e2e/agreement.ts'
import { isNightly } from '../tools/nightly.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { destinationReport } from './destination-log.ts'
import { DESTINATION, Scene } from './scene.ts'

const SWITCHES = isNightly ? 10 : 3
const SOME = 25

it('loses nothing acknowledged when the primary is killed again and again and its synchronous standby takes over', async () => {
  const scene = await closedAtEnd(Scene.open({ synchronous: true }))
  const { cluster, senders } = scene
  for (let switches = 0; switches < SWITCHES; switches++) {
    await senders.more(SOME)
    await cluster.fail()
    await cluster.bringBack()
  }
  await senders.more(SOME)
  await scene.settle()

  expect(senders.wrong).toEqual([])
  expect(await scene.lost()).toEqual([])
  const mirrored = await recordIds(scene.db, 'default')
  expect(senders.acknowledged.filter(({ messageId }) => !mirrored.has(messageId))).toEqual([])
  expect(await logFaults(scene.db)).toEqual([])
  expect(await scene.follower.end()).toEqual([])
  expect(scene.follower.counts.takenBack).toBe(0)
  expect(await destinationReport(scene.db, DESTINATION, scene.hooks.arrivals)).toEqual({ faults: [], fromLogDivergence: 0 })
})
