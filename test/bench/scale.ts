import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import { systemClock } from '../../src/base/clock.ts'
import { feeds, readKinds } from '../../src/model/reads.ts'
import { timeFromMs } from '../../src/model/time.ts'
import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { claimReads } from '../../src/store/reads/claims.ts'
import { rank } from '../../src/store/reads/reads.ts'
import { newSqlite, silentLog } from '../tools/databases.ts'
import { uuid } from '../tools/observations.ts'
import { startServe } from './serve-process.ts'
import { atMost, type BenchRow, median } from './table.ts'

const SMALL = 10_000
const LARGE = 1_000_000
const TICKS = 301
const DAY_MS = 86_400_000

/** Cost of a million tracked, idle submissions: a check for due reads against the same at ten thousand, and the process's memory. */
export async function scaleBench(): Promise<BenchRow[]> {
  const small = await trackedDatabase(SMALL)
  const large = await trackedDatabase(LARGE)
  try {
    const tick = { small: await tickMicros(small.config), large: await tickMicros(large.config) }
    const ratio = tick.large / tick.small
    const rssMb = await idleMegabytes(large.config.path)
    return [
      {
        bar: 'a look for due reads, 1,000,000 tracked against 10,000',
        value: `${tick.large.toFixed(0)} µs`,
        baseline: `${tick.small.toFixed(0)} µs`,
        ratio: ratio.toFixed(2),
        required: '≤ 1.5 ×',
        met: ratio <= 1.5,
      },
      atMost('memory of `serve` with 1,000,000 tracked submissions, idle', 'MB', rssMb, 250),
    ]
  } finally {
    await small.remove()
    await large.remove()
  }
}

async function trackedDatabase(
  submissions: number,
): Promise<{ config: Extract<DatabaseConfig, { kind: 'sqlite' }>; remove(): Promise<void> }> {
  const place = newSqlite()
  const db = await openDb(place.config, { clock: systemClock, log: silentLog })
  await migrate(db)
  await ensureAccounts(db, ['default'])
  await db.close()
  fill(place.config.path, submissions)
  return place
}

/** Rows as after polling, each due within a day, written directly, since filling isn't measured. */
function fill(path: string, submissions: number): void {
  const database = new Database(path)
  database.pragma('synchronous = off')
  const now = Date.now()
  const submission = database.prepare(
    "insert into submissions (account, submission_id, tracked_at, tracked_via) values ('default', ?, ?, 'command')",
  )
  const read =
    database.prepare(`insert into sync_reads (account, submission_id, read, id, rank, due_at, request_no, cursor, cursor_no, issued_no, applied_no, active_at, failures, not_found, stalled_feed_reads, last_read_at, last_full_read_at, full_read_due_at)
    values ('default', ?, ?, '', ${rank.routine}, ?, 0, ?, 1, 1, 0, ?, 0, 0, 0, ?, ?, ?)`)
  const past = timeFromMs(now - DAY_MS)
  const later = timeFromMs(now + 30 * DAY_MS)
  database.transaction(() => {
    for (let n = 0; n < submissions; n++) {
      const id = uuid(9, n)
      submission.run(id, past)
      const due = timeFromMs(now + 3_600_000 + ((n * 7_919) % DAY_MS))
      for (const kind of readKinds)
        read.run(id, kind, due, (feeds as readonly string[]).includes(kind) ? `cursor ${n}` : null, past, past, past, later)
    }
  })()
  database.pragma('wal_checkpoint(truncate)')
  database.close()
}

async function tickMicros(config: DatabaseConfig): Promise<number> {
  const db = await openDb(config, { clock: systemClock, log: silentLog })
  try {
    const times: number[] = []
    for (let n = 0; n < TICKS; n++) {
      const startedAt = performance.now()
      await tick(db)
      times.push((performance.now() - startedAt) * 1000)
    }
    return median(times)
  } finally {
    await db.close()
  }
}

async function tick(db: Db): Promise<void> {
  for (const which of [rank.live, rank.routine, rank.failing]) {
    await claimReads(db, { account: 'default', rank: which, limit: 8, leaseMs: 60_000 })
  }
}

async function idleMegabytes(path: string): Promise<number> {
  const serve = await startServe({ DATABASE_URL: `sqlite:${path}` })
  try {
    await systemClock.sleep(15_000)
    await fetch(`${serve.opsUrl}/metrics`)
    await systemClock.sleep(2_000)
    const status = readFileSync(`/proc/${serve.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024
  } finally {
    await serve.stop()
  }
}
