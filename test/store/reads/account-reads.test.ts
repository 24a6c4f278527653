import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { detailReads, idReads } from '../../../src/model/reads.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { newestRead } from '../../../src/store/operators/alarm-queries.ts'
import { addReads } from '../../../src/store/reads/reads.ts'
import { freshnessGauges } from '../../../src/store/upkeep/gauges.ts'
import { testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'

it.each(testDatabases)(
  'an account is as fresh as its oldest read of each kind, and silent since its newest of any, on $name',
  async ({ open }) => {
    const { db } = await closedAtEnd(open())
    const [first, second, third, fourth] = [1, 2, 3, 4].map((n) => timeFromMs(Date.UTC(2026, 0, n)))
    expect(await newestRead(db.read, ACCOUNT)).toBeNull()
    await db.write('test', async (tx) => {
      const places = [1, 2, 3].map((n) => ({ account: ACCOUNT, submissionId: uuid(9, n) }))
      await addReads(tx, [...places, { account: 'other', submissionId: uuid(9, 1) }], fourth ?? '', false)
      const read = (account: string, n: number, kind: 'events' | 'thread', at = '') =>
        tx.run(sql`
        update sync_reads set last_read_at = ${at} where account = ${account} and submission_id = ${uuid(9, n)} and read = ${kind}`)
      await read(ACCOUNT, 1, 'events', second)
      await read(ACCOUNT, 2, 'events', first)
      await read(ACCOUNT, 3, 'events', third)
      await read(ACCOUNT, 2, 'thread', second)
      await read('other', 1, 'events', fourth)
    })
    expect(await newestRead(db.read, ACCOUNT)).toBe(third)
    const gauges = await freshnessGauges(db.read, ACCOUNT)
    expect(Object.fromEntries(gauges.map(({ read, oldestAt, never }) => [read, [oldestAt, never]]))).toEqual({
      events: [first, 0],
      thread: [second, 2],
      requirements: [null, 3],
      ...Object.fromEntries(detailReads.map((read) => [read, [null, 3]])),
      ...Object.fromEntries(idReads.map((read) => [read, [null, 0]])),
    })
  },
)
