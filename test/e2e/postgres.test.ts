import { sql } from 'kysely'
import { inject, it, onTestFinished } from 'vitest'
import { dbTime } from '../../src/store/engine/sql.ts'
import { newPostgres } from '../tools/databases.ts'
import { until } from '../tools/until.ts'
import { startRoundRobin } from './round-robin.ts'
import { untilServed } from './serve.ts'
import { Stage } from './stage.ts'
import { expectTheStory } from './story.ts'

/** The dead one was last seen so long ago. */
const DEAD_MS = 30_000
/** The living one beats anew after each such step, which is no gap yet. */
const BEAT_MS = 3_000

it('on Postgres two processes share the work, one of them is killed half-way, and the mirror ends as what the service shows', async () => {
  const place = newPostgres(inject('postgresUrl'))
  onTestFinished(() => place.remove())
  const stage = await Stage.open(place.config, { seed: 'two processes', speed: 60, faults: 'all', submissions: 10 })
  onTestFinished(() => stage.close())
  const { sandbox } = stage
  const [first, second] = [await stage.serveApart(), await stage.serveApart()]
  const balancer = await startRoundRobin([first.receiver, second.receiver])
  onTestFinished(() => balancer.close())
  await stage.track()
  stage.deliverTo(balancer.origin)
  sandbox.startStory()
  await until('half of the story is told', () => sandbox.stats().story.played >= sandbox.stats().story.total / 2)
  await first.kill()
  const db = await stage.openStore()
  const processes = () => db.read.sql.selectFrom('sync_processes').select(['process_id', 'seen_at']).orderBy('started_at').execute()
  const [dead] = await processes()
  await db.write('test', (tx) =>
    sql`update sync_processes set seen_at = ${dbTime(tx, -DEAD_MS)} where process_id = ${dead?.process_id}`.execute(tx.sql),
  )
  // The deliveries and reads that it had in hand are free then, long before its leases end.
  for (let living = await processes(); living.length > 1; living = await processes()) {
    const seen = JSON.stringify(living)
    second.wake({ passedMs: BEAT_MS })
    await untilServed(second, 'the living one was seen again', async () => JSON.stringify(await processes()) !== seen)
  }
  await expectTheStory(stage, second)
})
