import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { migrations } from '../../../migrations/index.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { testDatabases } from '../../tools/databases.ts'

const BEFORE_COUNTS = 14

describe.each(testDatabases)('the running counts of records on $name', ({ open }) => {
  it('hold what was there before them, what comes, and what a hand deletes', async () => {
    const { db, close } = await open({ migrated: false })
    onTestFinished(close)
    await migrate(
      db,
      migrations.filter(({ version }) => version <= BEFORE_COUNTS),
    )
    await run(db, submissions('a', 'b'), events('a', 1, 2), messages('a', 1))
    await migrate(db)
    expect(await shown(db)).toEqual(['a 2 1', 'b 0 0'])
    await run(db, events('a', 3), events('b', 1, 2, 3), messages('b', 1, 2))
    expect(await shown(db)).toEqual(['a 3 1', 'b 3 2'])
    await run(db, "delete from market_events where event_id in ('1', '2')", "delete from thread_messages where submission_id = 'b'")
    expect(await shown(db)).toEqual(['a 1 1', 'b 1 0'])
  })
})

async function run(db: Db, ...statements: readonly string[]): Promise<void> {
  await db.write('test', async (tx) => {
    for (const statement of statements) await sql.raw(statement).execute(tx.sql)
  })
}

/** What both views say of each submission: its events and its messages. */
async function shown(db: Db): Promise<string[]> {
  const of = async (view: string) => {
    const { rows } = await sql<{ submission_id: string; event_count: number; message_count: number }>`
      select submission_id, event_count, message_count from ${sql.table(view)} order by submission_id`.execute(db.read.sql)
    return rows.map((row) => `${row.submission_id} ${row.event_count} ${row.message_count}`)
  }
  const [overview, completeness] = [await of('submission_overview'), await of('completeness')]
  expect(completeness).toEqual(overview)
  return overview
}

const AT = '2026-01-05T12:00:00.000000Z'

function submissions(...ids: readonly string[]): string {
  const rows = ids.map((id) => `('acme', '${id}', '${AT}', 'webhook')`)
  return `insert into submissions (account, submission_id, tracked_at, tracked_via) values ${rows.join()}`
}

function events(submission: string, ...ids: readonly number[]): string {
  const rows = ids.map((id) => `('acme', '${submission}', '${id}', 'quoted', '${AT}', '${AT}', 'webhook', '{}')`)
  return `insert into market_events (account, submission_id, event_id, type, occurred_at, first_seen_at, first_seen_via, raw) values ${rows.join()}`
}

function messages(submission: string, ...ids: readonly number[]): string {
  const rows = ids.map((id) => `('acme', '${submission}', '${id}', 'email', 'inbound', 'note', '${AT}', 'Text', '${AT}', 'webhook', '{}')`)
  return `insert into thread_messages
    (account, submission_id, message_id, channel, direction, kind, occurred_at, body_text, first_seen_at, first_seen_via, raw) values ${rows.join()}`
}
