import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import { msFromTime, timeFromMs } from '../../../src/model/time.ts'
import { DueTimeHealer } from '../../../src/ops/clocks/due-time-healer.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { addReads } from '../../../src/store/reads/reads.ts'
import { onSqlite, silentLog, testDatabases } from '../../tools/databases.ts'

const HOUR = 3_600_000
const YEAR = 365 * 24 * HOUR

const config = loadConfig({
  ACCOUNT: 'acme',
  BROKER_API_BASE_URL: 'https://service.invalid',
  BROKER_API_CLIENT_ID: 'id',
  BROKER_API_CLIENT_SECRET: 'secret',
  WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32).toString('base64')}`,
})

/** A clock whose wall time can be set; its waits are over at once, after `atWait`. */
function steppedClock(atWait: (ms: number) => void | Promise<void>) {
  let aheadMs = 0
  const clock: Clock = {
    ...systemClock,
    now: () => Date.now() + aheadMs,
    sleep: async (ms) => void (await atWait(ms)),
  }
  const put = (ms: number) => {
    aheadMs = ms
  }
  return { clock, put }
}

async function withRead(db: Db, aheadMs: number): Promise<void> {
  const at = timeFromMs(Date.now() + aheadMs)
  await db.write('test', async (tx) => {
    await addReads(tx, [{ account: 'acme', submissionId: 's' }], timeFromMs(Date.now()), false)
    await tx.sql.updateTable('sync_reads').set({ due_at: at, replay_due_at: at, active_at: at }).execute()
  })
}

async function furthest(db: Db): Promise<number> {
  const rows = await db.read.sql.selectFrom('sync_reads').select(['due_at', 'replay_due_at', 'active_at']).execute()
  return Math.max(...rows.flatMap((row) => Object.values(row)).map((time) => msFromTime(time ?? ''))) - Date.now()
}

describe.each(testDatabases)('bringing due times forward on $name', ({ open }) => {
  it.each([3 * HOUR, 2 * YEAR])(
    'at the start: a clock that ran ahead by %s ms was put right while the program was down',
    async (aheadMs) => {
      const stopping = new AbortController()
      const { clock } = steppedClock((ms) => {
        if (ms > 1_000) stopping.abort()
      })
      const { db, close } = await open({ clock })
      onTestFinished(close)
      await withRead(db, aheadMs)
      await new DueTimeHealer({ db, clock, log: silentLog, config }).run(stopping.signal)
      expect(await furthest(db)).toBeLessThanOrEqual(config.replay.activeMs)
      const [read] = await db.read.sql.selectFrom('sync_reads').selectAll().where('read', '=', 'events').execute()
      expect(msFromTime(read?.due_at ?? '') - Date.now()).toBeLessThanOrEqual(config.poll.quietMs)
    },
  )
})

describe.each(onSqlite)('the clock of the database is ours on $name', ({ open }) => {
  it.each([10 * 60_000, 3 * HOUR, 2 * YEAR])(
    'within seconds: the clock ran ahead by %s ms and is put right while the program runs',
    async (aheadMs) => {
      const stopping = new AbortController()
      let checks = 0
      const stepped = steppedClock(async (ms) => {
        if (ms < 1_000) return
        checks += 1
        if (checks === 1) await withRead(db, aheadMs + config.poll.quietMs)
        if (checks === 1) stepped.put(0)
        if (checks === 2) stopping.abort()
      })
      stepped.put(aheadMs)
      const { db, close } = await open({ clock: stepped.clock })
      onTestFinished(close)
      await new DueTimeHealer({ db, clock: stepped.clock, log: silentLog, config }).run(stopping.signal)
      const [read] = await db.read.sql.selectFrom('sync_reads').selectAll().execute()
      expect(msFromTime(read?.due_at ?? '') - Date.now()).toBeLessThanOrEqual(config.poll.quietMs + 60_000)
    },
  )
})
