import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { SetBackWatch } from '../../../src/ops/clocks/set-back-watch.ts'
import { addReads } from '../../../src/store/reads/reads.ts'
import { onSqlite, silentLog } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe.each(onSqlite)('the clock is set back on $name', ({ open }) => {
  it.each([
    ['while the program runs', 10 * MINUTE],
    ['while the program runs', 3 * HOUR],
    ['while the program runs', 2 * 365 * 24 * HOUR],
    ['while the program is down', 3 * HOUR],
  ])('%s: what was due in 5 minutes still is, %s ms back', async (when, backMs) => {
    let aheadMs = backMs
    let checks = 0
    let stopping = new AbortController()
    const clock: Clock = {
      ...systemClock,
      now: () => Date.now() + aheadMs,
      sleep: async (ms) => {
        if (ms < 1_000) return
        checks += 1
        aheadMs = 0
        if (checks === 2 || when.endsWith('down')) stopping.abort()
      },
    }
    const { db } = await closedAtEnd(open({ clock }))
    await db.write('test', async (tx) => {
      await addReads(tx, [{ account: 'acme', submissionId: 's' }], timeFromMs(clock.now()), false)
      await tx.run(sql`update sync_reads set due_at = ${timeFromMs(clock.now() + 5 * MINUTE)}`)
    })
    await new SetBackWatch({ db, clock, log: silentLog }).run(stopping.signal)
    if (when.endsWith('down')) {
      stopping = new AbortController()
      await new SetBackWatch({ db, clock, log: silentLog }).run(stopping.signal)
    }
    const reads = await db.read.sql.selectFrom('sync_reads').select('due_at').execute()
    for (const { due_at } of reads) expect(Math.round((Date.parse(due_at ?? '') - Date.now()) / MINUTE)).toBe(5)
  })
})
