import { sql } from 'kysely'
import { timeFromMs } from '../../src/model/time.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { requestRestatements } from '../../src/store/outbox/restatements.ts'
import type { Mishap } from '../push/hooks.ts'
import { countedDestination } from '../tools/destinations.ts'
import { until } from '../tools/until.ts'
import { addWork } from './load.ts'
import { type KillPoint, workOn } from './points.ts'
import { FILTER, MAIN, mappingOf, PushSide } from './push-side.ts'
import type { CrashRig } from './rig.ts'

const LONG_AGO_MS = 24 * 3_600_000
/** More streams than may be in flight. */
const MANY = 8

let added = 0

function side({ push }: CrashRig): PushSide {
  if (!(push instanceof PushSide)) throw new Error('nothing is pushed')
  return push
}

const work = (rig: CrashRig): void => void addWork(rig)
const nothing = (): void => undefined
const under = (rig: CrashRig, mishap: Mishap): void => {
  side(rig).hooks.mishap = (hook) => (hook === MAIN ? mishap : 'take')
}

export const pushPoints: readonly KillPoint[] = [
  { transaction: 'push-fan-out', later: 3, provoke: workOn },
  { transaction: 'outbox-claim', later: 3, provoke: workOn },
  { transaction: 'outbox-settle', later: 3, provoke: workOn },
  {
    transaction: 'push-restate',
    async before(rig) {
      const db = await rig.store()
      const [row] = await db.read.sql.selectFrom('submissions').select(['account', 'submission_id']).limit(1).execute()
      if (!row) throw new Error('no submission to restate')
      await db.write('test', async (tx) => {
        await requestRestatements(tx, [{ destination: MAIN, ...row }])
        // Long ago, so that the product waits for nothing more.
        await tx.run(sql`update sync_restatements set requested_at = ${timeFromMs(Date.now() - LONG_AGO_MS)}`)
      })
    },
  },
  {
    transaction: 'outbox-release',
    async provoke(rig) {
      under(rig, 'hang')
      for (let n = 0; n < MANY; n++) addWork(rig)
      const claimed = claimedStreams(await rig.store())
      // Claimed ahead but not started; a stop releases them.
      await until('lanes are claimed ahead', async () => rig.isThere || (await claimed.execute()).length > 3)
      rig.askToStop()
    },
  },
  {
    transaction: 'destination-state',
    provoke(rig) {
      under(rig, { status: 429, headers: { 'retry-after': '1' } })
      work(rig)
    },
  },
  {
    transaction: 'destination-state',
    provoke(rig) {
      under(rig, { status: 410 })
      work(rig)
    },
  },
  {
    transaction: 'push-map',
    provoke(rig) {
      rig.command(`map ${JSON.stringify(mappingOf(addWork(rig)))}`)
    },
  },
  { transaction: 'outbox-retry', provoke: (rig) => command(rig, 'retry') },
  { transaction: 'outbox-skip', provoke: (rig) => command(rig, 'skip') },
  { transaction: 'destinations', before: nothing, settings: (rig) => side(rig).add(`late-${++added}`) },
  { transaction: 'push-filter', before: nothing, settings: (rig) => side(rig).add(`filtered-${++added}`, { filter: FILTER }) },
  {
    transaction: 'push-snapshot',
    before: nothing,
    settings: (rig) => side(rig).add(`filtered-${++added}`, { filter: FILTER, start: 'snapshot' }),
  },
  { transaction: 'push-tokens', before: nothing, settings: (rig) => side(rig).addRefreshing(`refreshing-${++added}`) },
  { transaction: 'push-snapshot', before: nothing, settings: (rig) => side(rig).add(`snapshot-${++added}`, { start: 'snapshot' }) },
]

async function command(rig: CrashRig, name: 'retry' | 'skip'): Promise<void> {
  under(rig, { status: 400 })
  work(rig)
  const db = await rig.store()
  await until('there is a dead letter', async () => ((await countedDestination(db.read, MAIN))?.dead ?? 0) > 0)
  under(rig, 'take')
  const claimed = claimedStreams(db)
  await until('what was refused is noted', async () => (await claimed.execute()).length === 0)
  await side(rig).noteDead(db, name === 'skip')
  rig.command(name)
}

function claimedStreams({ read }: Db) {
  return read.sql.selectFrom('sync_push_streams').select('stream').where('lease_token', 'is not', null).where('destination', '=', MAIN)
}
