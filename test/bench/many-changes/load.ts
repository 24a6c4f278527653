import pg from 'pg'
import { systemClock } from '../../../src/base/clock.ts'
import { TASK, turnAt } from '../../../src/ops/retention/retention.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { confirmUpkeep } from '../../../src/store/upkeep/upkeep.ts'
import { silentLog } from '../../tools/databases.ts'
import type { LoadResult } from '../children/receive-load.ts'
import { startLoad } from '../load.ts'
import { BUSY } from '../lookups/rows.ts'
import { startServe, WEBHOOK_SECRET } from '../serve-process.ts'
import { atMost, type BenchRow, plainRow, quantile } from '../table.ts'
import { configOf } from './filled.ts'

const SECONDS = Number(process.env['MANY_CHANGES_SECONDS'] ?? 120)
const DELIVERIES_A_SECOND = 200
const CONNECTIONS = 64
const NAMED = 500
const P99_MS = 100
/** Share of changes beyond retention. */
const OLD_SHARE = 0.1

/** The server's counters for the tables. */
interface Counted {
  readonly first: number
  readonly last: number
  readonly counterUpdates: number
  readonly counterHot: number
  readonly counterBytes: number
  readonly dead: number
  readonly vacuums: number
  readonly bytes: number
}

/** 200 deliveries per second while a tenth of the changes is removed, with a vacuum afterwards. */
export async function measureLoad(url: string): Promise<BenchRow[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`set search_path = ${configOf(url).schema}`)
  try {
    const keptDays = await daysToKeep(client)
    await confirmRetention(url, keptDays)
    const before = await count(client)
    const { latencies } = await deliver(url, keptDays)
    const after = await count(client)
    const oldest = await msOf(client, 'select seq from changes order by seq limit 1000')
    const behindLast = await msOf(client, `select seq from changes where seq > ${after.first - 1} order by seq limit 1000`)
    const startedAt = performance.now()
    await client.query('vacuum changes')
    const vacuumed = await count(client)
    return [
      atMost(`acknowledgements at ${DELIVERIES_A_SECOND}/s, p99`, 'ms', quantile(latencies, 0.99), P99_MS),
      infoRow('changes a second that were added', (after.last - before.last) / SECONDS, 'a second'),
      infoRow('changes a second that retention removed meanwhile', (after.first - before.first) / SECONDS, 'a second'),
      infoRow(
        'updates of the counter row within its page (HOT)',
        (100 * (after.counterHot - before.counterHot)) / (after.counterUpdates - before.counterUpdates),
        '%',
      ),
      infoRow('size of the counter table', after.counterBytes / 1024, 'KB'),
      infoRow('dead rows of changes at the end', after.dead, 'rows'),
      infoRow('autovacuums of changes meanwhile', after.vacuums - before.vacuums, ''),
      infoRow('the oldest 1,000 changes before a vacuum, from the beginning of the index', oldest, 'ms'),
      infoRow('the same behind the last that was removed', behindLast, 'ms'),
      infoRow('one vacuum of changes', (performance.now() - startedAt) / 1000, 's'),
      infoRow('changes with its indexes', vacuumed.bytes / 2 ** 30, 'GB'),
    ]
  } finally {
    await client.end()
  }
}

/** Waiting pushes would keep changes, so none wait. */
async function daysToKeep(client: pg.Client): Promise<number> {
  await client.query("update sync_outbox set state = 'delivered' where state <> 'delivered'")
  const { rows } = await client.query<{ days: number }>(
    `select extract(epoch from now() - changed_at)::float8 / 86400 as days from changes, mirror_info
     where seq = first_seq + ((last_seq - first_seq) * ${OLD_SHARE})::bigint`,
  )
  return Math.floor(rows[0]?.days ?? 0)
}

/** The rows are older than the clock, which retention would wait for. */
async function confirmRetention(url: string, changesDays: number): Promise<void> {
  const db = await openDb(configOf(url), { clock: systemClock, log: silentLog })
  const turn = turnAt(Date.now(), { retention: { days: null, changesDays, maxShare: 100 }, cronTimezone: 'UTC' })
  await confirmUpkeep(db, TASK, turn).finally(() => db.close())
}

async function deliver(url: string, keptDays: number): Promise<LoadResult> {
  const { schema } = configOf(url)
  const serve = await startServe({
    DATABASE_URL: url,
    DATABASE_SCHEMA: schema,
    ACCOUNT: BUSY,
    RETENTION_DAYS: 'off',
    CHANGES_RETENTION_DAYS: String(keptDays),
    RETENTION_MAX_SHARE: '100',
  })
  const load = await startLoad()
  try {
    const port = Number(new URL(serve.receiverUrl).port)
    const requests = DELIVERIES_A_SECOND * SECONDS + CONNECTIONS
    const first = Date.now() % 1_000_000_000
    const job = {
      port,
      secret: WEBHOOK_SECRET,
      connections: CONNECTIONS,
      seconds: SECONDS,
      rate: DELIVERIES_A_SECOND,
      submissions: NAMED,
      requests,
      first,
    }
    return await load.send(job)
  } finally {
    await load.stop()
    await serve.stop()
  }
}

async function count(client: pg.Client): Promise<Counted> {
  await client.query('select pg_stat_force_next_flush()')
  const { rows } = await client.query<Record<keyof Counted, string>>(`
    select i.first_seq as first, i.last_seq as last, m.n_tup_upd as "counterUpdates", m.n_tup_hot_upd as "counterHot",
      pg_total_relation_size('mirror_info') as "counterBytes", c.n_dead_tup as dead, c.autovacuum_count as vacuums,
      pg_total_relation_size('changes') as bytes
    from mirror_info i, pg_stat_user_tables m, pg_stat_user_tables c
    where m.relid = 'mirror_info'::regclass and c.relid = 'changes'::regclass`)
  const [row] = rows
  if (row === undefined) throw new Error('mirror_info has no row')
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)])) as unknown as Counted
}

/** @returns the shortest of three durations. */
async function msOf(client: pg.Client, text: string): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < 3; n++) {
    const startedAt = performance.now()
    await client.query(text)
    times.push(performance.now() - startedAt)
  }
  return Math.min(...times)
}

/** A row without a limit. */
function infoRow(bar: string, value: number, unit: string): BenchRow {
  const text = value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1)
  return plainRow(bar, `${text} ${unit}`.trim(), '', true)
}
