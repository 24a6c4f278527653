import { type Insertable, sql } from 'kysely'
import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import type { TimeText } from '../../src/model/time.ts'
import { FanOut } from '../../src/push/queue/fan-out.ts'
import type { FanOutDestination } from '../../src/push/queue/queued-rows.ts'
import type { Db } from '../../src/store/engine/db.ts'
import type { CountedDestination } from '../../src/store/outbox/destinations.ts'
import { firstRows, type OutboxRow } from '../../src/store/outbox/rows.ts'
import { type ClaimedStream, type RowResult, type StreamResult, settleStreams } from '../../src/store/outbox/work.ts'
import type { OutboxState } from '../../src/store/schema/push.ts'
import type { Tables } from '../../src/store/schema/tables.ts'
import { type OpenedDatabase, openAgain, runSql, silentLog, type TestOptions } from '../tools/databases.ts'
import { countedDestination } from '../tools/destinations.ts'
import { applyAll } from '../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../tools/observations.ts'

export const ACCOUNT = 'acme'

export type TestDestination = FanOutDestination & { readonly start: 'now' | 'snapshot' | number }

/** A destination that gets everything from the first change on, except for `over`. */
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

/** Handles on one new database; on SQLite, where one process writes, all are the same. */
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

export async function queueEvents(db: Db, count: number): Promise<void> {
  await applyAll(
    db,
    Array.from({ length: count }, (_, n) => observedEvent(ACCOUNT, uuid(9, n + 1), wireEvent(n + 1))),
  )
  await fanAll(db, [destinationOf('ams', { entities: ['market_events'] })])
}

export function fanOutOf(db: Db, destinations: readonly TestDestination[]): FanOut {
  return new FanOut({ db, log: silentLog, destinations, isClockTrusted: async () => true })
}

export async function fanAll(db: Db, destinations: readonly TestDestination[]): Promise<void> {
  const fanOut = fanOutOf(db, destinations)
  await fanOut.prepare()
  while (await fanOut.step()) {}
}

export interface StoredRow {
  readonly outbox_id: number
  readonly destination: string
  readonly account: string
  readonly stream: string
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

export async function outboxOf(db: Db, destination?: string): Promise<StoredRow[]> {
  const of = destination === undefined ? sql`` : sql`where destination = ${destination}`
  return await db.read.all(sql<StoredRow>`select * from sync_outbox ${of} order by outbox_id`)
}

export interface StoredStream {
  readonly destination: string
  readonly stream: string
  readonly lease_token: string | null
  readonly blocked: string | null
  readonly held_by: number | null
}

export async function streamsIn(db: Db): Promise<StoredStream[]> {
  return await db.read.all(sql<StoredStream>`
    select destination, stream, lease_token, blocked, held_by from sync_push_streams order by destination, stream`)
}

export async function contentOf(db: Db, destination: string): Promise<OutboxRow[]> {
  const streams = (await streamsIn(db)).filter((stream) => stream.destination === destination)
  const { byStream } = await firstRows(
    db.read,
    streams.map(({ stream }) => ({ destination, account: ACCOUNT, stream })),
    { limit: 100_000, submissions: false },
  )
  return [...byStream.values()].flat()
}

export async function stateOf(db: Db, destination: string): Promise<CountedDestination> {
  const row = await countedDestination(db.read, destination)
  if (row === null) throw new Error(`there is no destination ${destination}`)
  return row
}

export async function counters(db: Db, destination: string): Promise<{ kept: number[]; counted: number[] }> {
  const { queued, dead, unknown } = await stateOf(db, destination)
  const rows = await outboxOf(db, destination)
  const count = (state: OutboxState) => rows.filter((row) => row.state === state).length
  return { kept: [queued, dead, unknown], counted: [count('ready'), count('dead'), count('unknown')] }
}

export function outboxRow(own: Partial<OutboxRow> = {}): OutboxRow {
  return {
    outboxId: 1,
    messageId: 'm',
    account: 'default',
    submissionId: 's',
    entity: 'quotes',
    entityId: '["s","q"]',
    operation: 'insert',
    cause: 'webhook',
    seq: 7,
    snapshot: false,
    changedAt: '2026-11-21T12:00:00.000000Z' as TimeText,
    before: null,
    after: {},
    afterText: null,
    attempts: 0,
    progress: null,
    status: null,
    uncertain: false,
    triedAt: null,
    resent: null,
    remoteId: null,
    mapping: null,
    leftFilter: false,
    submission: null,
    direction: null,
    ...own,
  }
}

export function storedRow(seq: number, stream: string, over: object = {}): Insertable<Tables['sync_outbox']> {
  const about = {
    destination: 'ams',
    account: ACCOUNT,
    stream,
    entity: 'market_events',
    entity_id: '["e"]',
    operation: 'insert',
    cause: 'poll',
  }
  return { ...about, seq, message_id: `m${seq}`, state: 'ready', attempts: 0, uncertain: 0, ...over } as Insertable<Tables['sync_outbox']>
}

export function result(
  stream: ClaimedStream,
  state: RowResult['state'],
  over: Partial<RowResult> = {},
  next?: StreamResult['next'],
): StreamResult {
  const rows = stream.rows.map((row) => ({
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
  return { stream, rows, next: next ?? { type: 'due', inMs: 0 } }
}

export function settleEach(
  db: Db,
  streams: readonly ClaimedStream[],
  resultOf: (stream: ClaimedStream, n: number) => StreamResult,
): Promise<StreamResult[]> {
  return settleStreams(db, streams.map(resultOf))
}

/** Writes a row of `push_map` with SQL only. @param fields as JSON text. */
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
  await runSql(db, sql.raw(text))
}
