import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Db } from '../../../src/store/engine/db.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]
const event = (submission: string, n: number) => observedEvent('acme', submission, wireEvent(n))
const message = (submission: string, n: number) => observedMessage('acme', submission, wireMessage(n))

describe.each(testDatabases)('the counts of records on $name', ({ open }) => {
  it('match the rows when records arrive together, again, or after a deletion by hand', async () => {
    const { db } = await closedAtEnd(open())
    await applyAll(db, [event(ONE, 1), event(ONE, 2), message(ONE, 3), event(TWO, 4)])
    expect(await shown(db)).toEqual(['2 1', '1 0'])
    await applyAll(db, [event(ONE, 2), event(ONE, 5), message(TWO, 6), message(TWO, 7)])
    expect(await shown(db)).toEqual(['3 1', '1 2'])
    await runSql(db, sql`delete from market_events where event_id = ${uuid(1, 1)}`)
    await applyAll(db, [event(ONE, 1), event(ONE, 2), event(ONE, 5)])
    expect(await shown(db)).toEqual(['3 1', '1 2'])
  })
})

/** What both views say of each submission: its events and its messages. */
async function shown(db: Db): Promise<string[]> {
  const of = async (view: string) => {
    const rows = await db.read.all(sql<{ event_count: number; message_count: number }>`
      select event_count, message_count from ${sql.table(view)} order by submission_id`)
    return rows.map((row) => `${row.event_count} ${row.message_count}`)
  }
  const [overview, completeness] = [await of('submission_overview'), await of('completeness')]
  expect(completeness).toEqual(overview)
  return overview
}
