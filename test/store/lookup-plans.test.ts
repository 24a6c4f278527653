import Database from 'better-sqlite3'
import { type CompiledQuery, type KyselyPlugin, type RawBuilder, type RootOperationNode, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { AlarmWatch } from '../../src/ops/alarms/alarm-watch.ts'
import { listCompleteness } from '../../src/store/completeness/completeness.ts'
import type { Db, Query, Tx } from '../../src/store/engine/db.ts'
import { createKysely } from '../../src/store/engine/kysely.ts'
import { changeDeliveries, countDeliveries, countInbox, findDeliveries, listDeliveries, makeReady } from '../../src/store/inbox/queries.ts'
import { submissionItems } from '../../src/store/mirror/submission-items.ts'
import { countSubmissions } from '../../src/store/mirror/submission-list.ts'
import { listUnmapped } from '../../src/store/mirror/submission-search.ts'
import { reachedOf } from '../../src/store/mirror/whole-submission.ts'
import { setDestinationState } from '../../src/store/outbox/destinations.ts'
import { listOutbox } from '../../src/store/outbox/queries.ts'
import { retryRows, skipRows } from '../../src/store/outbox/retry.ts'
import { claimStreams } from '../../src/store/outbox/work.ts'
import { claimedReads } from '../../src/store/reads/claims.ts'
import { forgetContent } from '../../src/store/reads/content-hashes.ts'
import { countSucceeding } from '../../src/store/reads/reads-off.ts'
import { readsStatus } from '../../src/store/upkeep/status.ts'
import { openFilled } from '../bench/size/filled.ts'
import { hook } from '../config/support.ts'
import { openWatch } from '../ops/alarms/rig.ts'
import { newPostgres, newSqlite, type OpenedDatabase, sqliteDatabase } from '../tools/databases.ts'
import { putOutbox } from '../tools/destinations.ts'
import { readsInterrupted } from '../tools/meddled.ts'
import { uuid } from '../tools/observations.ts'
import { consoleLookups, lookups } from './lookups.ts'

const SCALE = { submissions: 400, events: 20_000, queued: 0 }
const LOOKUPS = [...lookups(SCALE), ...consoleLookups(SCALE)]
/** Less than any large table has. The newest 1,000 deliveries also wait: lists of an account pass over them, or read them by their own index. */
const MOST_READ = 2_500

/** @returns the statements that a lookup makes; what it asks later depends on what was answered. */
async function statementsOf(db: Db, run: (db: Db, n: number) => Promise<unknown>): Promise<CompiledQuery[]> {
  const asked: CompiledQuery[] = []
  await run(
    readsInterrupted(db, (query) => asked.push(query)),
    1,
  )
  return asked
}

function fillOnce(place: ReturnType<typeof newSqlite> | ReturnType<typeof newPostgres>, use: (db: Db) => void): void {
  let db: Db
  beforeAll(async () => {
    db = await openFilled(place.config, SCALE)
    use(db)
  })
  afterAll(async () => {
    await db.close()
    await place.remove()
  })
}

/** What a lookup reads is found by indexes: the same work with millions of rows as with a few. `npm run bench -- size` has the times. */
describe('each lookup, on SQLite,', () => {
  let db: Db
  fillOnce(newSqlite(), (filled) => (db = filled))

  it.each(LOOKUPS)('$name: uses only indexes', async ({ run }) => {
    for (const query of await statementsOf(db, run)) {
      const rows = await db.read.all(sql<{ detail: string }>`explain query plan ${sql.raw(withValues(query))}`)
      const steps = rows.map(({ detail }) => detail).filter((detail) => /^(SEARCH|SCAN)/.test(detail))
      expect(steps.length).toBeGreaterThan(0)
      for (const step of steps) {
        // An index of all of an account's reads, for each submission.
        expect(step).not.toMatch(/^SEARCH .* sync_reads_freshness \(account=\? AND read=\?\)/)
        expect(step).toMatch(
          /^(SEARCH .* USING|SCAN (sync_destinations|known|part|parts|few|met|counted|named|capped|way|freshness|open_items|\d+|CONSTANT ROW|d|.* VIRTUAL TABLE|(s|submissions) USING INDEX submissions_\w+|sync_inbox USING INDEX sync_inbox_ready))/,
        )
      }
    }
  })
})

interface Plan {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

describe('each lookup, on Postgres,', () => {
  let db: Db
  // Postgres reads a table of a few rows as a whole, which says nothing about millions.
  const url = `${inject('postgresUrl')}?options=-c%20enable_seqscan%3Doff%20-c%20enable_hashjoin%3Doff`
  fillOnce(newPostgres(url), (filled) => (db = filled))

  it.each(LOOKUPS)('$name: reads only the rows that it shows, or those of its submission', async ({ run }) => {
    for (const query of await statementsOf(db, run)) {
      const plan = await planOf(db.read, sql.raw(withValues(query)))
      expect(mostRows(plan), JSON.stringify(plan)).toBeLessThanOrEqual(MOST_READ)
    }
  })

  it('claims by due time: rows that are not due are not read', async () => {
    const of = sql`'waiting', n::text`
    const tomorrow = sql`now() + interval '1 day'`
    const plans = await db.write('test', async (tx) => {
      await tx.run(sql`insert into sync_reads (account, submission_id, read, id, rank, due_at, request_no, cursor_no, issued_no, applied_no, failures, not_found, stalled_feed_reads)
        select ${of}, 'events', '', 1, ${tomorrow}, 0, 0, 0, 0, 0, 0, 0 from generate_series(1, 5000) n`)
      await tx.run(sql`analyze sync_reads`)
      return [await planOf(tx, claimedReads.select(tx, { where: sql`account = 'waiting' and rank = 1`, limit: 8 }))]
    })
    for (const plan of plans) expect(mostRows(plan), JSON.stringify(plan)).toBeLessThanOrEqual(8)
  })
})

async function planOf(q: Query, query: RawBuilder<unknown>): Promise<Plan> {
  const row = await q.one(sql<{ 'QUERY PLAN': string }>`explain (analyze, format json) ${query}`)
  return (JSON.parse(row?.['QUERY PLAN'] ?? '[]') as [{ Plan: Plan }])[0].Plan
}

function mostRows(plan: Plan): number {
  const own = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  return Math.max(own, ...(plan.Plans ?? []).map(mostRows))
}

function withValues({ sql: text, parameters }: CompiledQuery): string {
  const written = parameters.map((value) => (typeof value === 'number' ? String(value) : `'${String(value)}'`))
  let n = 0
  return text.replace(/\?|\$(\d+)/g, (_, position?: string) => written[position === undefined ? n++ : Number(position) - 1] ?? 'null')
}

/**
 * How SQLite, which has counted no rows, goes about what operators list. With five million deliveries of one account the wrong index took
 * minutes, the right one a moment.
 */
describe('each list, on SQLite without statistics,', () => {
  let opened: OpenedDatabase
  let file: Database.Database
  beforeAll(async () => {
    opened = await sqliteDatabase.open()
    file = new Database(opened.config.kind === 'sqlite' ? opened.config.path : '', { readonly: true })
  })
  afterAll(async () => {
    file.close()
    await opened.close()
  })

  /** @returns how SQLite goes about the statements that `ask` makes. */
  async function planOf(ask: (db: Db) => Promise<unknown>): Promise<string> {
    const { db } = opened
    const asked: CompiledQuery[] = []
    const noting = createKysely('sqlite', async (query) => {
      asked.push(query)
      return { rows: [] }
    })
    const read: Query = Object.create(db.read, { sql: { value: noting } })
    const tx: Tx = Object.assign(Object.create(read), { afterCommit() {}, notifyOthers() {} })
    await ask({ kind: 'sqlite', clock: db.clock, signals: db.signals, read, write: (_, work) => work(tx) } as Db)
    return asked.flatMap(({ sql, parameters }) => stepsOf(file, sql, parameters)).join('; ')
  }

  const byAccount = 'SEARCH sync_inbox USING INDEX sync_inbox_processed (account=?)'
  const sorted = 'USE TEMP B-TREE FOR ORDER BY'
  const only = { account: 'acme' }

  it('the newest deliveries of an account are read from the newest', async () => {
    expect(await planOf(({ read }) => listDeliveries(read, {}, 50))).toBe('SCAN sync_inbox')
    const all = await planOf(({ read }) => listDeliveries(read, only, 50))
    for (const part of [byAccount, 'SCAN sync_inbox USING INDEX sync_inbox_ready']) expect(all).toContain(part)
    expect(await planOf(({ read }) => listDeliveries(read, { ...only, state: 'done' }, 50))).toBe(byAccount)
  })

  it('the deliveries of a submission are found by its index', async () => {
    const bySubmission = 'sync_inbox_submission (account=? AND submission_id=?)'
    const ofOne = await planOf(({ read }) => listDeliveries(read, { ...only, submissionId: uuid(9, 1) }, 50))
    expect(ofOne).toContain(bySubmission)
    expect(ofOne).not.toContain(sorted)
    expect(await planOf(({ read }) => listDeliveries(read, { submissionId: uuid(9, 1) }, 50))).toContain(bySubmission)
  })

  it('deliveries of a rare state are found by the index of that state', async () => {
    const stopped = `SCAN sync_inbox USING INDEX sync_inbox_stopped; ${sorted}`
    const ready = `SCAN sync_inbox USING INDEX sync_inbox_ready; ${sorted}`
    expect(await planOf(({ read }) => listDeliveries(read, { state: 'dead', after: 9 }, 50))).toBe(stopped)
    expect(await planOf(({ read }) => listDeliveries(read, { state: 'ready' }, 50))).toBe(ready)
    expect(await planOf(({ read }) => listDeliveries(read, { ...only, state: 'ready' }, 50))).toBe(ready)
    expect(await planOf(({ read }) => listDeliveries(read, { ...only, state: 'aside' }, 50))).toContain(
      'sync_inbox_stopped (account=? AND state=?)',
    )
    expect(await planOf((db) => changeDeliveries(db, makeReady, { state: 'dead' }, 9, 500))).toBe(stopped)
  })

  it('a delivery is found by its id', async () => {
    expect(await planOf(({ read }) => findDeliveries(read, 'msg_1'))).toContain(
      'sqlite_autoindex_sync_inbox_1 (account=? AND delivery_id=?)',
    )
  })

  it('deliveries are counted by indexes', async () => {
    const plan = await planOf((db) => countInbox(db.read))
    for (const by of ['COVERING INDEX sync_inbox_processed;', 'COVERING INDEX sync_inbox_stopped;', 'INDEX sync_inbox_ready;'])
      expect(plan).toContain(`SCAN sync_inbox USING ${by}`)
  })

  it('up to a limit deliveries of all accounts are counted by the index of their state', async () => {
    for (const account of [undefined, 'acme']) {
      const plan = (state: 'ready' | 'done' | 'dead') => planOf(({ read }) => countDeliveries(read, { account, state }, 1_000))
      expect(await plan('ready')).toMatch(/sync_inbox USING (COVERING )?INDEX sync_inbox_ready/)
      expect(await plan('done')).toContain('sync_inbox USING COVERING INDEX sync_inbox_processed')
      expect(await plan('dead')).toContain('sync_inbox USING COVERING INDEX sync_inbox_stopped')
    }
  })

  it('stages are counted by their index', async () => {
    expect(await planOf(({ read }) => countSubmissions(read, ['acme'], 'quoted', 1_000))).toContain(
      'SEARCH submissions USING COVERING INDEX submissions_by_stage (account=? AND stage=?)',
    )
  })

  it('the reads of a submission are found by their key', async () => {
    const place = { account: 'acme', submissionId: uuid(9, 1) }
    const plan = await planOf((db) => db.write('test', (tx) => forgetContent(tx, [place])))
    expect(plan).toContain('sqlite_autoindex_sync_reads_1 (account=? AND submission_id=? AND id=? AND read=?)')
    expect(await planOf(({ read }) => countSucceeding(read, 'acme', [place.submissionId]))).toContain('sqlite_autoindex_sync_reads_1')
  })

  it('the completeness of a submission reads only its own arrivals', async () => {
    const plan = await planOf(({ read }) => listCompleteness(read, { account: 'acme' }, 50))
    expect(plan).toContain('SEARCH a USING INDEX sqlite_autoindex_sync_arrivals_1 (account=? AND entity=? AND submission_id=?)')
  })

  it('pushes of an account are read from the newest, those of a state or a submission by their indexes', async () => {
    const newest = await planOf(({ read }) => listOutbox(read, only, 50))
    expect(newest).toMatch(/^SEARCH o USING INDEX sync_outbox_account \(account=\?\);/)
    expect(newest).not.toContain(sorted)
    expect(await planOf(({ read }) => listOutbox(read, { destination: 'agency', state: 'dead', after: 9 }, 50))).toContain(
      'SEARCH o USING INDEX sync_outbox_stopped (destination=? AND state=? AND outbox_id<?)',
    )
    // Without a destination, each one's rows are read.
    expect(await planOf(({ read }) => listOutbox(read, { state: 'ready' }, 50))).toMatch(/^SCAN sync_destinations/)
    const ofOne = await planOf(({ read }) => listOutbox(read, { destination: 'agency', state: 'ready' }, 50))
    expect(ofOne).toContain('SEARCH o USING INDEX sync_outbox_ready (destination=?)')
    expect(ofOne).not.toContain(sorted)
    const ofAll = await planOf(({ read }) => listOutbox(read, { destination: 'agency' }, 50))
    for (const index of ['ready', 'delivered', 'stopped']) expect(ofAll).toContain(`SEARCH o USING INDEX sync_outbox_${index} (`)
    const retried = await planOf(({ read }) => listOutbox(read, { destination: 'agency', state: 'retrying' }, 50))
    expect(retried).toContain('SEARCH o USING INDEX sync_outbox_retrying (destination=?)')
    // A small account is read from its newest row.
    const ofSmall = await planOf(({ read }) => listOutbox(read, { ...only, destination: 'agency', state: 'ready' }, 50))
    expect(ofSmall).toContain('SEARCH o USING INDEX sync_outbox_account (account=?)')
    expect(ofSmall).not.toContain(sorted)
    const bySubmission = 'sync_outbox_submission (account=? AND submission_id=?)'
    expect(await planOf(({ read }) => listOutbox(read, { submissionId: uuid(9, 1) }, 50))).toContain(bySubmission)
    expect(await planOf(({ read }) => listOutbox(read, { ...only, submissionId: uuid(9, 1) }, 50))).toContain(bySubmission)
    expect(await planOf((db) => retryRows(db, only, 9, 200))).toContain('SCAN o USING INDEX sync_outbox_stopped')
    expect(await planOf((db) => skipRows(db, { state: 'ready' }, 9, 200))).toMatch(/^SCAN o USING COVERING INDEX sync_outbox_stream;/)
  })

  it('reads are counted in one scan, not one by one by an index', async () => {
    expect(await planOf(({ read }) => readsStatus(read))).toMatch(/SCAN sync_reads; /)
  })

  it('only due streams among those that wait for a client are read', async () => {
    const claim = { streams: 16, rowsPerStream: 1, leaseMs: 60_000, uncertain: false }
    const plan = await planOf((db) => claimStreams(db, 'agency', { ...claim, unmapped: true }))
    expect(plan).toContain('sync_push_streams_blocked (destination=? AND blocked=? AND due_at<?)')
    expect(plan).not.toContain(sorted)
    expect(await planOf((db) => claimStreams(db, 'agency', claim))).toContain('sync_push_streams_due (destination=? AND due_at<?)')
  })

  it('submissions that wait for a client are found without reading the outbox of the others', async () => {
    for (const narrowing of [{}, only, { search: 'bakery' }, { after: { account: 'acme', submissionId: uuid(9, 1) } }]) {
      const plan = await planOf(({ read }) => listUnmapped(read, { destination: 'agency', ...narrowing }, 50))
      expect(plan).toMatch(/SEARCH l USING (COVERING )?INDEX \S+ \(destination=\?/)
      expect(plan).toContain('sync_outbox_stream (destination=? AND account=? AND stream=?)')
      expect(plan).not.toMatch(/SCAN (o|s)\b/)
    }
  })

  it('the pushes and open items of a submission are found by its indexes', async () => {
    const key = { account: 'acme', submission_id: uuid(9, 1) }
    const reached = await planOf(({ read }) => reachedOf(read, key))
    expect(reached).toContain('sync_outbox_submission (account=? AND submission_id=?')
    expect(reached).toContain('changes_submission (account=? AND submission_id=?')
    expect(reached).not.toMatch(/SCAN (o|c|l)\b/)
    const items = await planOf(({ read }) => submissionItems(read, [key]))
    for (const table of ['market_readiness', 'bind_assumptions', 'bind_contingencies']) {
      expect(items).toMatch(new RegExp(`SEARCH x USING (COVERING )?INDEX \\S*${table}\\S* \\(account=\\? AND submission_id=\\?`))
    }
    for (const table of ['x', 'o'])
      expect(items).toMatch(new RegExp(`SEARCH ${table}( EXISTS)? USING (COVERING )?INDEX sync_outbox_submission`))
    expect(items).not.toMatch(/SCAN [xo]\b/)
  })

  describe('push_status', () => {
    const asked = (where: string, order = '') =>
      planOf(({ read }) => read.run(sql`select * from push_status where ${sql.raw(where)} ${sql.raw(order)}`))

    it('finds a state and a submission by their indexes', async () => {
      expect(await asked("destination = 'agency' and state = 'dead'")).toContain('sync_outbox_stopped (destination=? AND state=?)')
      expect(await asked("state not in ('delivered', 'skipped')")).toMatch(
        /SCAN o USING INDEX sync_outbox_ready;.*SCAN o USING INDEX sync_outbox_stopped/,
      )
      const ofOne = await asked(`account = 'acme' and submission_id = '${uuid(9, 1)}'`)
      expect(ofOne.match(/sync_outbox_submission \(account=\? AND submission_id=\? AND state=\?\)/g)).toHaveLength(3)
      expect(ofOne).not.toContain('SCAN o')
    })

    it('is read in the order of submissions, and joined, without a full scan', async () => {
      expect(await asked("account = 'acme'", 'order by submission_id limit 100')).toMatch(/^MERGE \(UNION ALL\)/)
      expect(await asked("account = 'acme'", 'order by submission_id limit 100')).not.toContain(sorted)
    })
  })
})

/** Tables that grow with the mirror, with deliveries, or with what is pushed. */
const LARGE =
  /^SCAN (?:submissions|market_events|thread_messages|changes|sync_inbox|sync_reads|sync_arrivals|sync_conflicts|sync_unreadable|sync_outbox|sync_push_streams|reconcile_runs|reconcile_findings)\b(?!.* USING (?:COVERING )?INDEX)/

function listening(query: Query, asked: { readonly sql: string; readonly parameters: readonly unknown[] }[]): Query {
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      const { sql, parameters } = query.sql.getExecutor().compileQuery(node as RootOperationNode, queryId)
      asked.push({ sql, parameters })
      return node
    },
    transformResult: async ({ result }) => result,
  }
  return Object.create(query, { sql: { value: query.sql.withPlugin(plugin) } }) as Query
}

it('a check of the alarms reads large tables only by index, on SQLite', async () => {
  const ams = { name: 'ams', kind: 'webhook', url: 'https://ams.test/hook', secret: '${AMS_SECRET}' }
  const rig = await openWatch(sqliteDatabase, { destinations: [ams] }, { AMS_SECRET: hook(3) })
  await setDestinationState(rig.db, 'ams', 'active', null)
  await rig.db.write('test', (tx) => tx.sql.updateTable('sync_destinations').set({ cursor: 0 }).execute())
  await putOutbox(rig.db, 'ams', { ready: 1, dead: 1 })
  await rig.deliver(3)
  const asked: { sql: string; parameters: readonly unknown[] }[] = []
  const db: Db = Object.create(rig.db, {
    read: { value: listening(rig.db.read, asked) },
    readNoWait: { value: listening(rig.db.readNoWait, asked) },
    write: { value: rig.db.write.bind(rig.db) },
  })
  await new AlarmWatch({ ...rig.parts, db }).evaluate(new AbortController().signal)
  expect(asked.length).toBeGreaterThan(25)

  const plain = new Database(rig.file, { readonly: true })
  try {
    const scans = asked.flatMap(({ sql, parameters }) => {
      const steps = stepsOf(plain, sql, parameters)
      // The newest row by its number is the end of the table itself.
      if (/order by "inbox_id" desc limit \?$/.test(sql) && parameters.at(-1) === 1) return []
      return steps.filter((step) => LARGE.test(step)).map((step) => `${step}: ${sql}`)
    })
    expect(scans).toEqual([])
  } finally {
    plain.close()
  }
})

it('the followers of retried inserts are found by their submission, on SQLite', async () => {
  const { db, config, close } = await sqliteDatabase.open()
  const file = new Database(config.kind === 'sqlite' ? config.path : '', { readonly: true })
  onTestFinished(async () => {
    file.close()
    await close()
  })
  await putOutbox(db, 'ams', { dead: 2 })
  const asked: { sql: string; parameters: readonly unknown[] }[] = []
  const write: Db['write'] = (name, work, options) =>
    db.write(name, (tx) => work(Object.assign(listening(tx, asked) as Tx, { afterCommit() {}, notifyOthers() {} })), options)
  await retryRows(Object.create(db, { read: { value: listening(db.read, asked) }, write: { value: write } }), { destination: 'ams' }, 0, 9)
  const followers = asked.filter(({ sql }) => / join sync_outbox f /.test(sql))
  expect(followers).toHaveLength(2)
  for (const { sql, parameters } of followers)
    expect(stepsOf(file, sql, parameters)).toContain(
      'SEARCH f USING INDEX sync_outbox_submission (account=? AND submission_id=? AND state=?)',
    )
})

function stepsOf(file: Database.Database, sql: string, parameters: readonly unknown[]): string[] {
  const steps = file.prepare<unknown[], { detail: string }>(`explain query plan ${sql}`).all(...parameters)
  return steps.map(({ detail }) => detail)
}
