import { sql } from 'kysely'
import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import { FanOut } from '../../src/push/queue/fan-out.ts'
import type { FanOutDestination } from '../../src/push/queue/queued-rows.ts'
import type { Db } from '../../src/store/engine/db.ts'
import type { CountedDestination } from '../../src/store/outbox/destinations.ts'
import { firstRows, type OutboxRow } from '../../src/store/outbox/rows.ts'
import type { ClaimedLane, LaneResult, RowResult } from '../../src/store/outbox/work.ts'
import type { OutboxState } from '../../src/store/schema/push.ts'
import { type OpenedDatabase, openAgain, silentLog, type TestOptions } from '../tools/databases.ts'
import { countedDestination } from '../tools/destinations.ts'

export const ACCOUNT = 'acme'

export type TestDestination = FanOutDestination & { readonly start: 'now' | 'snapshot' | number }

/** A destination that gets everything from the first change on, but for what `over` says. */
export function destinationOf(name: string, over: Partial<TestDestination> = {}): TestDestination {
  return {
    name,
    accounts: [ACCOUNT],
    entities: null,
    operations: null,
    eventTypes: null,
    filter: null,
    backfill: true,
    maxAgeMs: null,
    start: 0,
    ...over,
  }
}

/** Handles on one new database; on SQLite, where one process writes, all of them are the same. */
export async function openedDbs(open: (options?: TestOptions) => Promise<OpenedDatabase>, count = 1, clock?: Clock): Promise<Db[]> {
  const options = clock ? { clock } : {}
  const first = await open(options)
  const others: Db[] = []
  for (let n = 1; n < count; n++) others.push(first.db.kind === 'postgres' ? await openAgain(first.config, options) : first.db)
  onTestFinished(async () => {
    for (const other of others) if (other !== first.db) await other.close()
    await first.close()
  })
  return [first.db, ...others]
}

export async function openedDb(open: (options?: TestOptions) => Promise<OpenedDatabase>, clock?: Clock): Promise<Db> {
  const [db] = await openedDbs(open, 1, clock)
  if (!db) throw new Error('no database')
  return db
}

export function fanOutOf(db: Db, destinations: readonly TestDestination[]): FanOut {
  return new FanOut({ db, log: silentLog, destinations, isClockTrusted: async () => true })
}

/** Fans out until there is nothing left to do. */
export async function fanAll(db: Db, destinations: readonly TestDestination[]): Promise<void> {
  const fanOut = fanOutOf(db, destinations)
  await fanOut.prepare()
  while (await fanOut.step()) {}
}

export interface StoredRow {
  readonly outbox_id: number
  readonly destination: string
  readonly account: string
  readonly lane: string
  readonly submission_id: string | null
  readonly entity: string
  readonly entity_id: string
  readonly operation: string
  readonly cause: string
  readonly seq: number
  readonly snapshot: string | null
  readonly message_id: string
  readonly state: OutboxState
  readonly attempts: number
  readonly tried_at: string | null
  readonly uncertain: number
  readonly status: number | null
  readonly error: string | null
  readonly progress: string | null
}

/** The whole outbox, or a destination's, in order. */
export async function outboxOf(db: Db, destination?: string): Promise<StoredRow[]> {
  const of = destination === undefined ? sql`` : sql`where destination = ${destination}`
  return (await sql<StoredRow>`select * from sync_outbox ${of} order by outbox_id`.execute(db.read.sql)).rows
}

export interface StoredLane {
  readonly destination: string
  readonly lane: string
  readonly lease_token: string | null
  readonly blocked: string | null
  readonly held_by: number | null
}

export async function lanesIn(db: Db): Promise<StoredLane[]> {
  const { rows } = await sql<StoredLane>`
    select destination, lane, lease_token, blocked, held_by from sync_push_lanes order by destination, lane`.execute(db.read.sql)
  return rows
}

/** What is in the outbox of a destination, with its content, in the order of each lane. */
export async function contentOf(db: Db, destination: string): Promise<OutboxRow[]> {
  const lanes = (await lanesIn(db)).filter((lane) => lane.destination === destination)
  const { byLane } = await firstRows(
    db.read,
    lanes.map(({ lane }) => ({ destination, account: ACCOUNT, lane })),
    { limit: 100_000, submissions: false },
  )
  return [...byLane.values()].flat()
}

export async function stateOf(db: Db, destination: string): Promise<CountedDestination> {
  const row = await countedDestination(db.read, destination)
  if (row === null) throw new Error(`there is no destination ${destination}`)
  return row
}

/** The counts of a destination as its state gives them, and as its rows do. */
export async function counters(db: Db, destination: string): Promise<{ kept: number[]; counted: number[] }> {
  const { queued, dead, unknown } = await stateOf(db, destination)
  const rows = await outboxOf(db, destination)
  const count = (state: OutboxState) => rows.filter((row) => row.state === state).length
  return { kept: [queued, dead, unknown], counted: [count('ready'), count('dead'), count('unknown')] }
}

/** Says of rows of a claim, all of them when none is named, that they came to `state`. */
export function result(lane: ClaimedLane, state: RowResult['state'], over: Partial<RowResult> = {}, next?: LaneResult['next']): LaneResult {
  const rows = lane.rows.map((row) => ({
    outboxId: row.outboxId,
    state,
    attempts: row.attempts + 1,
    uncertain: false,
    status: 200,
    detail: null,
    progress: null,
    error: state === 'delivered' ? null : `it became ${state}`,
    remoteId: null,
    ...over,
  }))
  return { lane, rows, next: next ?? { type: 'due', inMs: 0 } }
}

/** Writes a row of `push_map` as somebody does who has nothing but SQL. @param fields as JSON text. */
export async function mapByHand(
  db: Db,
  submissionId: string,
  client: string,
  fields: string | null = null,
  destination = 'ams',
): Promise<void> {
  const [column, value] = fields === null ? ['', ''] : [', fields', `, '${fields}'`]
  const text = `insert into push_map (destination, account, submission_id, client${column})
    values ('${destination}', '${ACCOUNT}', '${submissionId}', '${client}'${value})`
  await db.write('test', (tx) => sql.raw(text).execute(tx.sql))
}
