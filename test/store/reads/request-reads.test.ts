import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { mainReads } from '../../../src/model/reads.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { addReads, rank } from '../../../src/store/reads/reads.ts'
import { requestReads } from '../../../src/store/reads/request-reads.ts'
import type { Columns } from '../../../src/store/schema/tables.ts'
import { testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'
const HOUR_MS = 3_600_000

it.each(testDatabases)('requested reads are due immediately on $name, feeds from the beginning, and no others', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  const now = Date.now()
  const [late, past] = [timeFromMs(now + HOUR_MS), timeFromMs(now - HOUR_MS)]
  const asked = { account: ACCOUNT, submissionId: uuid(9, 1) }
  const places = [asked, { account: ACCOUNT, submissionId: uuid(9, 2) }, { account: 'other', submissionId: uuid(9, 1) }]
  await db.write('test', async (tx) => {
    await addReads(tx, places, late, false)
    const set = (read: 'events' | 'thread', at: string) =>
      tx.sql.updateTable('sync_reads').set({ full_read_due_at: at }).where('read', '=', read).execute()
    await set('events', late)
    await set('thread', past)
    // Failing reads keep their own retry time.
    await tx.sql.updateTable('sync_reads').set({ not_found: 1 }).where('read', '=', 'requirements').execute()
  })
  const rows = async () => {
    const found = await db.read.sql
      .selectFrom('sync_reads')
      .selectAll()
      .where('read', 'in', mainReads)
      .orderBy('account')
      .orderBy('submission_id')
      .orderBy('read')
      .execute()
    const isDue = (at: string | null) => (at === null ? null : Date.parse(at) <= Date.now())
    return found.map((row) => [
      row.account,
      row.submission_id,
      row.read,
      row.rank === rank.live,
      isDue(row.due_at),
      isDue(row.full_read_due_at),
    ])
  }
  const untouched = (account: string, submissionId: string) => [
    [account, submissionId, 'events', false, false, false],
    [account, submissionId, 'requirements', false, false, null],
    [account, submissionId, 'thread', false, false, true],
  ]
  await requestReads(db, ACCOUNT, [])
  expect(await rows()).toEqual([...untouched(ACCOUNT, uuid(9, 1)), ...untouched(ACCOUNT, uuid(9, 2)), ...untouched('other', uuid(9, 1))])
  const failing = () =>
    db.read.all(sql<Columns<'sync_reads', 'account' | 'submission_id' | 'due_at' | 'active_at'>>`
    select account, submission_id, due_at, active_at from sync_reads where not_found > 0 order by account, submission_id`)
  const before = await failing()
  await requestReads(db, ACCOUNT, [asked.submissionId])
  expect(await failing()).toEqual(before)
  expect(await rows()).toEqual([
    [ACCOUNT, uuid(9, 1), 'events', true, true, true],
    [ACCOUNT, uuid(9, 1), 'requirements', false, false, null],
    [ACCOUNT, uuid(9, 1), 'thread', true, true, true],
    ...untouched(ACCOUNT, uuid(9, 2)),
    ...untouched('other', uuid(9, 1)),
  ])
  const { full_read_due_at: kept } = await db.read.sql
    .selectFrom('sync_reads')
    .select('full_read_due_at')
    .where('account', '=', ACCOUNT)
    .where('submission_id', '=', asked.submissionId)
    .where('read', '=', 'thread')
    .executeTakeFirstOrThrow()
  expect(Date.parse(kept ?? ''), 'one that is due is not put off').toBe(now - HOUR_MS)
})

it.each(testDatabases)('without a full re-read the feeds are due from their cursors, on $name', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  const late = timeFromMs(Date.now() + HOUR_MS)
  await db.write('test', async (tx) => {
    await addReads(tx, [{ account: ACCOUNT, submissionId: uuid(9, 1) }], late, false)
    await tx.sql.updateTable('sync_reads').set({ full_read_due_at: late }).where('read', '=', 'events').execute()
  })
  await requestReads(db, ACCOUNT, [uuid(9, 1)], { fullRead: false })
  const events = await db.read.sql.selectFrom('sync_reads').selectAll().where('read', '=', 'events').executeTakeFirstOrThrow()
  expect(Date.parse(events.due_at ?? '')).toBeLessThanOrEqual(Date.now())
  expect(Date.parse(events.full_read_due_at ?? '')).toBe(Date.parse(late))
})
