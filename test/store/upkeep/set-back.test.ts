import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { entities } from '../../../src/model/entities.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { databaseNowMs, timeValue } from '../../../src/store/engine/sql.ts'
import { clockSetBackMs, moveTimesBack, recordClock, waitingTimes } from '../../../src/store/upkeep/set-back.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const never = new AbortController().signal

/** A row of each table with waiting times. */
const samples: Readonly<Record<string, string>> = {
  sync_inbox: `(account, delivery_id, received_at, secret, state, attempts, available_at, headers) values ('acme', 'd', :now, 0, 'ready', 0, :now, '{}')`,
  sync_reads: `(account, submission_id, read, id, rank, due_at, request_no, cursor_no, issued_no, applied_no, failures, not_found, stalled_feed_reads, active_at, full_read_due_at)
      values ('acme', 's', 'events', '', 1, :now, 0, 0, 0, 0, 0, 0, 0, :now, :now)`,
  sync_push_streams: `(destination, account, stream, due_at) values ('ams', 'acme', 's', :now)`,
  sync_destinations: `(destination, state, cursor, log_epoch, retry_at, failures) values ('ams', 'active', 0, 'e', :now, 1)`,
  sync_push_tokens: `(destination, lease_token, lease_until) values ('ams', 't', :now)`,
  sync_alert_messages: `(operator, name, account, destination, notice_id, kind, body, queued_at, due_at, attempts, settled_at)
      values ('ops', 'push_dead', '', 'ams', 'n', 'firing', '{}', :now, :now, 0, :now)`,
  sync_accounts: `(account, state, sweep_wanted, retry_at, swept_at, throttled_until) values ('acme', 'suspended', 0, :now, :now, :now)`,
  sync_documents: `(account, document_key, due_at, failing_since, failures) values ('acme', 'd', :now, :now, 1)`,
  sync_path_reads: `(account, submission_id, name, path, due_at, failures, ids, found) values ('acme', 's', 'x', '', :now, 0, 0, 0)`,
  sync_reads_off: `(account, read, cause, reason, since, retry_at) values ('acme', 'sessions', 'service', 'x', :now, :now)`,
  sync_alarm_watch: `(id, lease_token, lease_until) values (1, 't', :now)`,
  alarms: `(name, account, destination, state, severity, since, last_at, text) values ('push_dead', '', 'ams', 'firing', 'warning', :now, :now, '')`,
  sync_upkeep: `(task, lease_token, lease_until, position) values ('retention', 't', :now, 0)`,
  sync_reconcile: `(account, lease_token, lease_until, since) values ('acme', 't', :now, :now)`,
  reconcile_runs: `(run_id, account, slot, requested_by, options, state, requested_at, updated_at, ended_at, submissions_total, submissions_done, rows_compared,
        missing, different, absent, unreadable, undelivered, lost, repaired, known, moved)
      values ('r', 'acme', :now, 'cron', '{}', 'done', :now, :now, :now, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
  sync_reconciled: `(account, submission_id, run_id, visited_at, reconciled_at) values ('acme', 's', 'r', :now, :now)`,
  sync_processes: `(process_id, role, version, started_at, seen_at) values ('p', 'work', '1', :now, :now)`,
}

/** Times that delay nothing. Tables of service data and `changes` are not listed. */
const notDueTimes: Readonly<Record<string, readonly string[]>> = {
  sync_inbox: ['received_at', 'settled_at'],
  sync_rejected: ['received_at', 'replayed_at'],
  sync_reads: ['due_since', 'first_seen_at', 'last_read_at', 'last_changed_at', 'last_full_read_at'],
  sync_accounts: ['since', 'events_unreadable_at', 'identity_failing_since', 'throttled_since'],
  sync_arrivals: ['first_at'],
  sync_conflicts: ['seen_at'],
  sync_unreadable: ['seen_at'],
  sync_processes: ['started_at'],
  sync_migrations: ['applied_at'],
  push_map: ['mapped_at'],
  sync_destinations: ['since', 'last_success_at', 'filter_failed_at', 'verified_at'],
  sync_push_verifications: ['verified_at', 'repaired_at'],
  sync_outbox: ['queued_at', 'tried_at', 'settled_at'],
  sync_remote_ids: ['stored_at'],
  reconcile_runs: ['requested_at', 'started_at', 'updated_at'],
  reconcile_findings: ['repaired_at', 'found_at'],
  sync_reconciled: ['visited_at'],
  arrival_counts: ['hour'],
  sync_reads_off: ['since'],
  extra_reads: ['read_at'],
  sync_path_reads: ['last_read_at'],
  operator_actions: ['at'],
  alarms: ['resolved_at', 'notified_at', 'acknowledged_at'],
  alarm_history: ['since', 'fired_at', 'resolved_at', 'acknowledged_at'],
  sync_alert_messages: ['queued_at'],
  sync_alarm_watch: ['evaluated_at'],
  sync_log_epochs: ['began_at', 'full_reads_at', 'fully_read_at'],
  sync_purged: ['purged_at', 'finished_at'],
  sync_console_sessions: ['began_at', 'seen_at'],
  sync_restatements: ['requested_at'],
  sync_upkeep: ['began_at', 'ended_at', 'waits_since'],
  sync_last_uses: ['last_used_at'],
  sync_rejected_connections: ['noted_at'],
  sync_differing_deliveries: ['first_at', 'last_at'],
  sync_figures: ['at'],
  sync_sums: ['counted_at'],
  sync_api_changes: ['first_seen_at', 'last_seen_at'],
}

async function exec(db: Db, statement: string): Promise<void> {
  await runSql(db, sql.raw(statement))
}

async function put(db: Db, table: string, column: string, ms: number): Promise<void> {
  const time = timeFromMs((await databaseNowMs(db.read)) + ms)
  await db.write('test', (tx) => tx.run(sql`update ${sql.table(table)} set ${sql.ref(column)} = ${timeValue(tx, time)}`))
}

async function minutesAhead(db: Db, table: string, column: string): Promise<number> {
  const row = await db.read.one(sql<{ time: TimeText }>`select ${sql.ref(column)} as time from ${sql.table(table)}`)
  return Math.round((msFromTime(row?.time ?? timeFromMs(0)) - (await databaseNowMs(db.read))) / MINUTE)
}

describe.each(testDatabases)('a clock that was set back on $name', ({ open }) => {
  const opened = async () => {
    const { db } = await closedAtEnd(open())
    return db
  }

  it('is considered for every time of the schema, but those that nothing waits for', async () => {
    const found = (await timeColumns(await opened())).filter(
      ({ table }) => table !== 'changes' && !entities.some((entity) => entity.table === table),
    )
    const known = new Set([
      ...waitingTimes.flatMap(({ table, due, others = [] }) => [...(due ? [due] : []), ...others].map((column) => `${table}.${column}`)),
      ...Object.entries(notDueTimes).flatMap(([table, columns]) => columns.map((column) => `${table}.${column}`)),
    ])
    expect(found.length).toBeGreaterThan(40)
    expect(found.map(({ table, column }) => `${table}.${column}`).filter((column) => !known.has(column))).toEqual([])
    expect([...known].filter((each) => !found.some(({ table, column }) => `${table}.${column}` === each))).toEqual([])
  })

  it.each(waitingTimes)('moves future times in $table, and leaves past and leased ones', async ({ table, due, others = [] }) => {
    const db = await opened()
    const columns = due === undefined ? others : [due, ...others]
    const moved = async (ms: number, backMs: number) => {
      for (const column of columns) await put(db, table, column, ms)
      const changed = await moveTimesBack(db, backMs, never)
      return [changed[table] ?? 0, ...(await Promise.all(columns.map((column) => minutesAhead(db, table, column))))]
    }
    const each = (minutes: number) => columns.map(() => minutes)
    await exec(db, `insert into ${table} ${samples[table]?.replaceAll(':now', `'${timeFromMs(await databaseNowMs(db.read))}'`)}`)
    if (table !== 'sync_alarm_watch') {
      if (due !== undefined) await exec(db, `update ${table} set lease_token = null`)
      expect(await moved(185 * MINUTE, 3 * HOUR)).toEqual([1, ...each(5)])
      expect(await moved(2 * 365 * 24 * HOUR, 365 * 24 * HOUR)).toEqual([1, ...each(365 * 24 * 60)])
    }
    expect(await moved(-MINUTE, 3 * HOUR)).toEqual([0, ...each(-1)])
    if (due === undefined) return
    await exec(db, `update ${table} set lease_token = 'p t'`)
    expect((await moved(2 * MINUTE, 3 * HOUR))[1]).toBe(2)
    expect((await moved(182 * MINUTE, 3 * HOUR))[1]).toBe(15)
    expect((await moved(240 * MINUTE, 3 * HOUR))[1]).toBe(60)
  })

  it('moves the rows of a large table in several transactions', async () => {
    const db = await opened()
    const now = timeFromMs(await databaseNowMs(db.read))
    const values = Array.from({ length: 2_100 }, (_, n) => `('ams', 'acme', 's${n}', '${now}')`)
    await exec(db, `insert into sync_push_streams (destination, account, stream, due_at) values ${values.join(',')}`)
    await put(db, 'sync_push_streams', 'due_at', 10 * HOUR)
    expect(await moveTimesBack(db, 10 * HOUR, never)).toEqual({ sync_push_streams: 2_100 })
    const left = db.read.sql
      .selectFrom('sync_push_streams')
      .select('stream')
      .where('due_at', '>', timeFromMs(Date.now() + MINUTE))
    expect(await left.execute()).toEqual([])
  })

  it('is known by the last recorded time', async () => {
    const db = await opened()
    expect(await clockSetBackMs(db)).toBe(0)
    await recordClock(db)
    expect(await clockSetBackMs(db)).toBe(0)
    await put(db, 'sync_upkeep', 'began_at', 3 * HOUR)
    expect(Math.round((await clockSetBackMs(db)) / HOUR)).toBe(3)
    await recordClock(db)
    expect(await clockSetBackMs(db)).toBe(0)
  })
})

/** The times of all base tables: by type on Postgres, by name on SQLite. */
async function timeColumns(db: Db): Promise<{ table: string; column: string }[]> {
  const columns =
    db.kind === 'postgres'
      ? await db.read.all(sql<{ table: string; column: string }>`
          select c.table_name as table, c.column_name as column from information_schema.columns c join information_schema.tables t
            on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
          where c.table_schema = current_schema() and c.data_type like 'timestamp%'`)
      : await db.read.all(sql<{ table: string; column: string }>`
          select m.name as "table", p.name as "column" from sqlite_master m join pragma_table_info(m.name) p
          where m.type = 'table' and (p.name glob '*_at' or p.name glob '*_until' or p.name glob '*since' or p.name in ('at', 'slot', 'hour'))`)
  // The slot of a task is a day, as text.
  return columns.filter(({ table, column }) => !(table === 'sync_upkeep' && column === 'slot'))
}
