import { expect, inject, it, onTestFinished } from 'vitest'
import { newPostgres } from '../tools/databases.ts'
import { waitFor } from './agreement.ts'
import { startRoundRobin } from './round-robin.ts'
import { Stage } from './stage.ts'
import { expectTheStory } from './story.ts'

const TEST_MS = 300_000
const STORY_MS = 60_000
/** Until the living one takes the other for dead. */
const FOUND_DEAD_MS = 40_000

it('on Postgres two processes share the work, one of them is killed half-way, and the mirror ends as what the service shows', {
  timeout: TEST_MS,
}, async () => {
  const place = newPostgres(inject('postgresUrl'))
  onTestFinished(() => place.remove())
  const stage = await Stage.open(place.config, { seed: 'two processes', speed: 20, faults: 'all', submissions: 10 })
  onTestFinished(() => stage.close())
  const { sandbox } = stage
  const [first, second] = [await stage.serve(), await stage.serve()]
  const balancer = await startRoundRobin([first.receiver, second.receiver])
  onTestFinished(() => balancer.close())
  await stage.track()
  stage.deliverTo(balancer.origin)
  sandbox.startStory()
  expect(await waitFor(() => sandbox.stats().story.played >= sandbox.stats().story.total / 2, STORY_MS)).toBe(true)
  await first.kill()
  const db = await stage.openStore()
  const processes = () => db.read.sql.selectFrom('sync_processes').select('process_id').execute()
  // The deliveries and reads that it had in hand are free then, long before its leases end.
  expect(await waitFor(async () => (await processes()).length === 1, FOUND_DEAD_MS), second.lines().join('\n')).toBe(true)
  await expectTheStory(stage, second)
})
