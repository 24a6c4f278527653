import { sql } from 'kysely'
import { inject, it, onTestFinished } from 'vitest'
import { dbTime } from '../../src/store/engine/sql.ts'
import { newPostgres } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'
import { startRoundRobin } from './round-robin.ts'
import { untilServed } from './serve.ts'
import { Stage } from './stage.ts'
import { expectTheStory } from './story.ts'

/** Time since the dead process was last seen. */
const DEAD_MS = 30_000
/** Steps within the heartbeat interval of the living process. */
const BEAT_MS = 3_000

it('on Postgres two processes share the work, one is killed, and the mirror agrees with the service', async () => {
  const place = newPostgres(inject('postgresUrl'))
  onTestFinished(() => place.remove())
  const stage = await closedAtEnd(Stage.open(place.config, { seed: 'two processes', speed: 60, faults: 'all', submissions: 10 }))
  const { sandbox } = stage
  const [first, second] = [await stage.serveApart(), await stage.serveApart()]
  const balancer = await closedAtEnd(startRoundRobin([first.receiver, second.receiver]))
  await stage.track()
  stage.deliverTo(balancer.origin)
  sandbox.story.start()
  await until('half of the story was played', () => sandbox.stats().story.played >= sandbox.stats().story.total / 2)
  await first.kill()
  const db = await stage.openStore()
  const processes = () => db.read.sql.selectFrom('sync_processes').select(['process_id', 'seen_at']).orderBy('started_at').execute()
  const [dead] = await processes()
  await db.write('test', (tx) =>
    tx.run(sql`update sync_processes set seen_at = ${dbTime(tx, -DEAD_MS)} where process_id = ${dead?.process_id}`),
  )
  // Its deliveries and reads are released long before their leases end.
  for (let living = await processes(); living.length > 1; living = await processes()) {
    const seen = JSON.stringify(living)
    second.wake({ passedMs: BEAT_MS })
    await untilServed(second, 'the living one was seen again', async () => JSON.stringify(await processes()) !== seen)
  }
  await expectTheStory(stage, second)
})
