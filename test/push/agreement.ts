import { sql } from 'kysely'
import { canonicalJson } from '../../src/model/json.ts'
import { personalDataFilter } from '../../src/model/personal.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { countedDestination } from '../tools/destinations.ts'
import { type ChangeRow, changesOf } from '../tools/mirror.ts'
import type { Arrival } from './hooks.ts'
import { outboxOf, type StoredRow } from './outbox.ts'

export interface Expected {
  readonly destination: string
  readonly wants?: (change: ChangeRow) => boolean
  readonly outOfTurn?: ReadonlySet<string>
  readonly skipped?: ReadonlySet<string>
}

/**
 * Compares what a destination took with the change log: each change at least once, under the id of its outbox row, first in the order of
 * its submission, and nothing else.
 * @param taken the ids, in the order in which they were taken.
 * @returns one line for each fault.
 */
export async function pushFaults(db: Db, expected: Expected, taken: readonly string[]): Promise<string[]> {
  const { destination, wants = () => true, outOfTurn = new Set(), skipped = new Set() } = expected
  const changes = (await changesOf(db)).filter(wants)
  const ids = idsOf(await outboxOf(db, destination))
  const faults = changes.filter(({ seq }) => !ids.has(seq)).map(({ seq }) => `change ${seq} never came into the outbox`)
  const known = new Set(ids.values())
  faults.push(...[...new Set(taken)].filter((id) => !known.has(id)).map((id) => `${id} is no change`))
  if (known.size !== ids.size) faults.push('two changes have one id')
  const first = [...new Set(taken)]
  const got = new Set(first)
  for (const { seq } of changes) {
    const id = ids.get(seq) ?? ''
    if (!got.has(id) && !skipped.has(id)) faults.push(`change ${seq} (${id}) never arrived`)
  }
  const rank = new Map(first.map((id, position) => [id, position]))
  for (const [stream, own] of Map.groupBy(changes, (change) => `${change.account} ${change.submission_id}`)) {
    const inTurn = own.map(({ seq }) => ids.get(seq) ?? '').filter((id) => rank.has(id) && !outOfTurn.has(id))
    const came = [...inTurn].sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0))
    if (came.join() !== inTurn.join()) faults.push(`submission ${stream} got ${came.join()}, not ${inTurn.join()}`)
  }
  return faults.map((fault) => `${destination}: ${fault}`)
}

function idsOf(rows: readonly StoredRow[]): Map<number, string> {
  return new Map(rows.filter(({ snapshot }) => snapshot === null).map((row) => [row.seq, row.message_id]))
}

/** Checks that all attempts of a message had the same bytes and id, and the content of the change log. @returns one line for each fault. */
export async function bodyFaults(db: Db, arrivals: readonly Arrival[]): Promise<string[]> {
  const changes = new Map((await changesOf(db)).map((change) => [change.seq, change]))
  const strip = personalDataFilter([])
  const faults: string[] = []
  const bodies = new Map<string, string>()
  const idOf = new Map<string, string>()
  for (const { hook, id, body } of arrivals) {
    const { data, snapshot = false } = JSON.parse(body) as { readonly data: ChangeRow; readonly snapshot?: boolean }
    if ((bodies.get(`${hook} ${id}`) ?? body) !== body) faults.push(`${hook}: ${id} came with another body`)
    bodies.set(`${hook} ${id}`, body)
    if (snapshot) continue
    if ((idOf.get(`${hook} ${data.seq}`) ?? id) !== id) faults.push(`${hook}: change ${data.seq} came under two ids`)
    idOf.set(`${hook} ${data.seq}`, id)
    const change = changes.get(data.seq)
    const own = change && { ...change, before: strip(change.entity, change.before), after: strip(change.entity, change.after) }
    const { seq, account, submission_id, entity, entity_id, operation, cause, before, after } = data
    const said = { seq, account, submission_id, entity, entity_id, operation, cause, before, after }
    if (own === undefined || canonicalJson(own as never) !== canonicalJson(said as never)) faults.push(`${hook}: ${body} is not in the log`)
  }
  return faults
}

/**
 * Checks what must hold for a destination at any moment, after any kill: the outbox has each change up to the cursor once, in
 * order; delivered rows were taken; counters are right; every ready row has its stream.
 * @returns one line for each fault.
 */
export async function outboxFaults(db: Db, { destination, wants = () => true }: Expected, taken: readonly string[]): Promise<string[]> {
  const state = await countedDestination(db.read, destination)
  if (state === null) return []
  const changes = (await changesOf(db)).filter((change) => wants(change) && change.seq <= state.cursor)
  const rows = await outboxOf(db, destination)
  const queued = rows.filter(({ snapshot }) => snapshot === null).map(({ seq }) => seq)
  const faults: string[] = []
  if (queued.join() !== changes.map(({ seq }) => seq).join()) faults.push(`the outbox has ${queued.join()} up to ${state.cursor}`)
  const got = new Set(taken)
  const lost = rows.filter((row) => row.state === 'delivered' && !got.has(row.message_id))
  faults.push(...lost.map((row) => `${row.message_id} counts as delivered and was never taken`))
  const streams = await db.read.sql
    .selectFrom('sync_push_streams')
    .select(['account', 'stream'])
    .where('destination', '=', destination)
    .execute()
  const open = new Set(streams.map(({ account, stream }) => `${account} ${stream}`))
  const stranded = rows.filter((row) => row.state === 'ready' && !open.has(`${row.account} ${row.stream}`))
  faults.push(...stranded.map((row) => `row ${row.outbox_id} is ready, and its stream is not open`))
  return faults.map((fault) => `${destination}: ${fault}`)
}

/**
 * Whether everything was sent: no row waits or was dead-lettered, and no submission waits to be restated after a log divergence. One
 * statement, so that nothing changes between its reads.
 */
export async function isDone(db: Db, destination: string): Promise<boolean> {
  return (
    (await db.read.one(sql`
    select 1 from sync_destinations d where d.destination = ${destination} and d.snapshot is null
      and d.cursor >= (select last_seq from mirror_info)
      and not exists (select 1 from sync_outbox o where o.destination = d.destination and o.state in ('ready', 'dead', 'unknown'))
      and not exists (select 1 from sync_restatements r where r.destination = d.destination)`)) !== null
  )
}
