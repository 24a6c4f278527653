import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { entities } from '../../../src/model/entities.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { capWaits, databaseNowMs, SLACK_MS, type WaitingTimes } from '../../../src/store/engine/longest-waits.ts'
import { timeValue } from '../../../src/store/engine/sql.ts'
import { type AllowedWaits, dueTimes } from '../../../src/store/upkeep/due-times.ts'
import { testDatabases } from '../../tools/databases.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const waits: AllowedWaits = {
  reads: (quietMs) => (quietMs < 90 * DAY ? { pollMs: 6 * HOUR, replayMs: DAY } : { pollMs: 7 * DAY, replayMs: 30 * DAY }),
  pushMs: DAY,
  laneLeaseMs: 2 * MINUTE,
  ids: () => DAY,
  probes: () => 2 * DAY,
  extraReads: () => DAY,
}

/** A row of each table that has due times: text, numbers, and times by `now()`. `variants` change its legal waits. */
const samples: Readonly<Record<string, { readonly row: string; readonly variants?: readonly string[] }>> = {
  sync_inbox: {
    row: `(account, delivery_id, received_at, secret, state, attempts, available_at, headers) values ('acme', 'd', :now, 0, 'ready', 0, :now, '{}')`,
    variants: [`lease_token = 'p t'`, `attempts = 3`],
  },
  sync_reads: {
    row: `(account, submission_id, read, rank, due_at, wake_no, cursor_no, issued_no, applied_no, failures, not_found, stalled_walks, active_at, replay_due_at)
      values ('acme', 's', 'events', 1, :now, 0, 0, 0, 0, 0, 0, 0, :now, :now)`,
    variants: [`lease_token = 'p t'`, 'rank = 2', 'rank = 0'],
  },
  sync_push_lanes: {
    row: `(destination, account, lane, due_at) values ('ams', 'acme', 's', :now)`,
    variants: [`lease_token = 't'`, `blocked = 'unmapped'`],
  },
  sync_destinations: {
    row: `(destination, state, cursor, log_epoch, retry_at, failures) values ('ams', 'active', 0, 'e', :now, 1)`,
  },
  sync_push_tokens: { row: `(destination, lease_token, lease_until) values ('ams', 't', :now)` },
  sync_operator_notices: {
    row: `(operator, name, account, destination, notice_id, kind, body, queued_at, due_at, attempts, settled_at)
      values ('ops', 'push_dead', '', 'ams', 'n', 'firing', '{}', :now, :now, 0, :now)`,
    variants: [`lease_token = 't'`, 'attempts = 2'],
  },
  sync_accounts: {
    row: `(account, state, sweep_wanted, retry_at, swept_at, throttled_until) values ('acme', 'suspended', 0, :now, :now, :now)`,
  },
  sync_known_ids: {
    row: `(account, kind, id, submission_id, via, first_seen_at, due_at, wake_no, issued_no, applied_no, failures, not_found, is_final)
      values ('acme', 'policy', 'p', 's', 'thread', :now, :now, 0, 0, 0, 0, 0, 0)`,
    variants: [`lease_token = 'p t'`],
  },
  sync_documents: {
    row: `(account, document_key, due_at, failing_since, failures) values ('acme', 'd', :now, :now, 1)`,
    variants: [`lease_token = 'p t'`],
  },
  sync_path_reads: {
    row: `(account, submission_id, name, path, due_at, failures, ids, found) values ('acme', 's', 'x', '', :now, 0, 0, 0)`,
    variants: [`path = '/x'`, `lease_token = 'p t'`],
  },
  sync_reads_off: { row: `(account, read, cause, reason, since, retry_at) values ('acme', 'sessions', 'service', 'x', :now, :now)` },
  sync_alarm_watch: { row: `(id, lease_token, lease_until) values (1, 't', :now)` },
  alarms: {
    row: `(name, account, destination, state, severity, since, last_at, text) values ('push_dead', '', 'ams', 'firing', 'warning', :now, :now, '')`,
  },
  sync_upkeep: { row: `(task, lease_token, lease_until, position) values ('retention', 't', :now, 0)` },
  sync_reconcile: { row: `(account, lease_token, lease_until, since) values ('acme', 't', :now, :now)` },
  reconcile_runs: {
    row: `(run_id, account, slot, requested_by, options, state, requested_at, updated_at, ended_at, submissions_total, submissions_done, rows_compared,
        missing, different, absent, unreadable, undelivered, lost, repaired, known, moved)
      values ('r', 'acme', :now, 'cron', '{}', 'done', :now, :now, :now, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
  },
  sync_proofs: {
    row: `(account, submission_id, run_id, visited_at, proved_at) values ('acme', 's', 'r', :now, :now)`,
  },
  sync_processes: { row: `(process_id, role, version, started_at, seen_at) values ('p', 'work', '1', :now, :now)` },
}

/** Times that only tell when something happened: nothing waits for them. Tables of service data and `changes` are not listed. */
const notDueTimes: Readonly<Record<string, readonly string[]>> = {
  sync_inbox: ['received_at', 'settled_at'],
  sync_rejected: ['received_at', 'replayed_at'],
  sync_reads: ['due_since', 'last_read_at', 'last_changed_at', 'last_replay_at'],
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
  sync_proofs: ['visited_at'],
  arrival_counts: ['hour'],
  sync_known_ids: ['first_seen_at', 'last_read_at', 'last_changed_at'],
  sync_reads_off: ['since'],
  extra_reads: ['read_at'],
  sync_path_reads: ['last_read_at'],
  operator_actions: ['at'],
  alarms: ['resolved_at', 'notified_at', 'acknowledged_at'],
  alarm_history: ['since', 'fired_at', 'resolved_at', 'acknowledged_at'],
  sync_operator_notices: ['queued_at'],
  sync_alarm_watch: ['evaluated_at'],
  sync_log_epochs: ['began_at', 'replays_at', 'replayed_at'],
  sync_purged: ['purged_at', 'finished_at'],
  sync_console_sessions: ['began_at', 'seen_at'],
  sync_restatements: ['requested_at'],
  sync_upkeep: ['began_at', 'ended_at', 'waits_since'],
  sync_last_uses: ['last_used_at'],
  sync_refused_connections: ['noted_at'],
  sync_differing_deliveries: ['first_at', 'last_at'],
  sync_figures: ['at'],
  sync_sums: ['counted_at'],
  sync_interface_drift: ['first_seen_at', 'last_seen_at'],
}

async function exec(db: Db, statement: string): Promise<void> {
  await db.write('test', (tx) => sql.raw(statement).execute(tx.sql))
}

function healAll(db: Db, due: WaitingTimes<AllowedWaits>): Promise<number> {
  return capWaits(db, due, waits, async () => true)
}

/** Puts a time where a clock that was wrong by `ms` would have left it. */
async function put(db: Db, table: string, column: string, ms: number): Promise<TimeText> {
  const time = timeFromMs((await databaseNowMs(db.read)) + ms)
  await db.write('test', (tx) => sql`update ${sql.table(table)} set ${sql.ref(column)} = ${timeValue(tx, time)}`.execute(tx.sql))
  return time
}

async function storedMs(db: Db, table: string, column: string): Promise<number | null> {
  const { rows } = await sql<{ time: TimeText | null }>`select ${sql.ref(column)} as time from ${sql.table(table)}`.execute(db.read.sql)
  const time = rows[0]?.time ?? null
  return time === null ? null : msFromTime(time)
}

async function aheadMs(db: Db, table: string, column: string): Promise<number | null> {
  const stored = await storedMs(db, table, column)
  return stored === null ? null : stored - (await databaseNowMs(db.read))
}

describe.each(testDatabases)('due times on $name', ({ name, open }) => {
  it('of every table are known, or listed as times that nothing waits for', async () => {
    const { db, close } = await open()
    onTestFinished(close)
    const found = (await timeColumns(db)).filter(({ table }) => table !== 'changes' && !entities.some((entity) => entity.table === table))
    const known = new Set([
      ...dueTimes.flatMap(({ table, columns }) => Object.keys(columns).map((column) => `${table}.${column}`)),
      ...Object.entries(notDueTimes).flatMap(([table, columns]) => columns.map((column) => `${table}.${column}`)),
    ])
    expect(found.length).toBeGreaterThan(40)
    expect(found.map(({ table, column }) => `${table}.${column}`).filter((column) => !known.has(column))).toEqual([])
    expect([...known].filter((each) => !found.some(({ table, column }) => `${table}.${column}` === each))).toEqual([])
  })

  it.each(dueTimes.map((due) => due.table))('%s: what lies too far ahead is brought back, and what may wait stays', async (table) => {
    const due = dueTimes.find((each) => each.table === table)
    const sample = samples[table]
    if (!due || !sample) throw new Error(`no sample of ${table}`)
    const { db, close } = await open()
    onTestFinished(close)
    const now = timeFromMs(await databaseNowMs(db.read))
    await exec(db, `insert into ${table} ${sample.row.replaceAll(':now', `'${now}'`)}`)
    if (table === 'sync_push_lanes') await queued(db, now)
    for (const variant of ['', ...(sample.variants ?? [])]) {
      if (variant !== '') await exec(db, `update ${table} set ${variant}`)
      const row = { ...(await rowOf(db, due)), extra: 0 }
      for (const [column, longestOf] of Object.entries(due.columns)) {
        const longest = longestOf(row, waits)
        // Within the slack, and at the end of the longest wait, nothing is changed.
        for (const legal of [longest.ms + SLACK_MS / 2, longest.ms / 2]) {
          const time = await put(db, table, column, legal)
          expect(await healAll(db, due), `${table}.${column} ${variant}`).toBe(0)
          expect(await storedMs(db, table, column)).toBe(msFromTime(time))
        }
        for (const beyond of [3 * MINUTE, 5 * HOUR, 500 * DAY, 8_000 * DAY]) {
          await put(db, table, column, longest.ms + beyond)
          expect(await healAll(db, due), `${table}.${column} ${variant} ${beyond}`).toBe(1)
          const ahead = await aheadMs(db, table, column)
          if (longest.becomes === 'clear') expect(ahead).toBeNull()
          else expect(ahead, `${table}.${column} ${variant}`).toBeLessThanOrEqual(longest.becomes === 'now' ? 0 : longest.ms)
          if (longest.becomes === 'lease') expect(ahead).toBeGreaterThan(longest.ms - 30_000)
        }
        await put(db, table, column, 0)
      }
    }
  })

  it('of many lanes are brought back in steps, and lanes that wait for their next attempt keep it', async () => {
    const { db, close } = await open()
    onTestFinished(close)
    const due = dueTimes.find(({ table }) => table === 'sync_push_lanes')
    if (!due) throw new Error('no lanes')
    const now = timeFromMs(await databaseNowMs(db.read))
    const values = Array.from({ length: 1_201 }, (_, n) => `('ams', 'acme', 's${n}', '${now}')`)
    await exec(db, `insert into sync_push_lanes (destination, account, lane, due_at) values ${values.join(',')}`)
    await queued(db, now, 's7')
    await exec(db, 'update sync_outbox set attempts = 2')
    await put(db, 'sync_push_lanes', 'due_at', 10 * HOUR)
    expect(await healAll(db, due)).toBe(1_200)
    const { rows } = await sql<{
      lane: string
    }>`select lane from sync_push_lanes where due_at > ${timeValue(db.read, timeFromMs(Date.now() + HOUR))}`.execute(db.read.sql)
    expect(rows).toEqual([{ lane: 's7' }])
  })

  it('that nobody has to bring back cost no write', async () => {
    const { db, close } = await open()
    onTestFinished(close)
    let writes = 0
    const watched: Db = {
      ...db,
      read: db.read,
      processId: db.processId,
      kind: db.kind,
      clock: db.clock,
      write: () => Promise.reject(++writes),
    } as never
    for (const due of dueTimes) await healAll(watched, due)
    expect(writes).toBe(0)
    expect(name).toBe(db.kind)
  })
})

async function queued(db: Db, now: TimeText, lane = 's'): Promise<void> {
  await exec(
    db,
    `insert into sync_outbox (destination, account, lane, entity, entity_id, operation, cause, seq, message_id, state, attempts, uncertain, queued_at)
     values ('ams', 'acme', '${lane}', 'lanes', '[]', 'insert', 'poll', 1, 'm', 'ready', 0, 0, '${now}')`,
  )
}

async function rowOf(db: Db, due: WaitingTimes<AllowedWaits>): Promise<Record<string, string | number | null>> {
  const { rows } = await sql<Record<string, string | number | null>>`select * from ${sql.table(due.table)}`.execute(db.read.sql)
  return { ...rows[0], now_ms: await databaseNowMs(db.read) }
}

/** The times of all base tables: by type on Postgres, by name on SQLite, where a time is text. */
async function timeColumns(db: Db): Promise<{ table: string; column: string }[]> {
  const { rows } =
    db.kind === 'postgres'
      ? await sql<{ table: string; column: string }>`
          select c.table_name as table, c.column_name as column from information_schema.columns c join information_schema.tables t
            on t.table_schema = c.table_schema and t.table_name = c.table_name and t.table_type = 'BASE TABLE'
          where c.table_schema = current_schema() and c.data_type like 'timestamp%'`.execute(db.read.sql)
      : await sql<{ table: string; column: string }>`
          select m.name as "table", p.name as "column" from sqlite_master m join pragma_table_info(m.name) p
          where m.type = 'table' and (p.name glob '*_at' or p.name glob '*_until' or p.name glob '*since' or p.name in ('at', 'slot', 'hour'))`.execute(
          db.read.sql,
        )
  // The slot of a task is a day, as text.
  return rows.filter(({ table, column }) => !(table === 'sync_upkeep' && column === 'slot'))
}
