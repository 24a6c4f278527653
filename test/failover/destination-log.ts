import { sql } from 'kysely'
import type { Db } from '../../src/store/engine/db.ts'
import { findDestination } from '../../src/store/outbox/destinations.ts'
import type { Arrival } from '../push/hooks.ts'
import { outboxOf } from '../push/outbox.ts'
import { changesOf } from '../tools/mirror.ts'

interface Told {
  readonly data: { readonly seq: number; readonly entity: string; readonly entity_id: string }
  readonly snapshot?: boolean
}

/** What a destination took, held against the log that is left. */
export interface DestinationReport {
  /** One line for each change that it was not told, or not told of. */
  readonly faults: string[]
  /** Changes that only a lost branch of the log had. */
  readonly fromLostBranches: number
}

/**
 * Every change of the log up to the destination's cursor has arrived under its id. What arrived besides lies behind the beginning of a later epoch, as one that a lost branch
 * had, and its row has come again since: as a change of the epoch that followed, or restated.
 */
export async function destinationReport(db: Db, destination: string, arrivals: readonly Arrival[]): Promise<DestinationReport> {
  const taken = arrivals.filter((arrival) => arrival.taken && arrival.hook === destination)
  const ids = new Map((await outboxOf(db, destination)).map((row) => [row.message_id, row]))
  const faults: string[] = []
  const got = new Set(taken.map(({ id }) => id))
  const sent = new Set([...ids.values()].filter(({ snapshot }) => snapshot === null).map(({ seq }) => seq))
  // What a read brought between the last look at a product at rest and its stop comes into the outbox with the next start.
  const { cursor = 0 } = (await findDestination(db.read, destination)) ?? {}
  const fannedOut = (await changesOf(db)).filter(({ seq }) => seq <= cursor)
  for (const { seq } of fannedOut) if (!sent.has(seq)) faults.push(`change ${seq} never came into the outbox`)
  for (const [id, { seq }] of ids) if (!got.has(id)) faults.push(`change ${seq} (${id}) never arrived`)
  const { rows } = await sql<{ least: number | null }>`select min(after_seq) as least from log_epochs where reason <> 'first'`.execute(
    db.read.sql,
  )
  const least = rows[0]?.least ?? Number.POSITIVE_INFINITY
  const lost = new Set<string>()
  for (const [place, { id, body }] of taken.entries()) {
    if (ids.has(id)) continue
    lost.add(id)
    const { data } = JSON.parse(body) as Told
    if (data.seq <= least) faults.push(`${id} is no change, and ${data.seq} lies before every epoch`)
    const again = taken.slice(place + 1).some((later) => ids.has(later.id) && isSameRow(JSON.parse(later.body) as Told, data))
    if (!again) faults.push(`${data.entity} ${data.entity_id} (${id}) came from a lost branch and was not told again`)
  }
  return { faults, fromLostBranches: lost.size }
}

function isSameRow({ data }: Told, { entity, entity_id }: Told['data']): boolean {
  return data.entity === entity && data.entity_id === entity_id
}
