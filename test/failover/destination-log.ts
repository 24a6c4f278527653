import { sql } from 'kysely'
import type { Db } from '../../src/store/engine/db.ts'
import { findDestination } from '../../src/store/outbox/destinations.ts'
import type { Arrival } from '../push/hooks.ts'
import { outboxOf } from '../push/outbox.ts'
import { changesOf } from '../tools/mirror.ts'

interface Content {
  readonly data: { readonly seq: number; readonly entity: string; readonly entity_id: string }
  readonly snapshot?: boolean
}

/** The changes of a destination, compared with the remaining log. */
export interface DestinationReport {
  /** One line for each missing change or correction. */
  readonly faults: string[]
  /** Changes that only the lost part of the log had. */
  readonly fromLogDivergence: number
}

/**
 * Every logged change up to the destination's cursor arrived under its id. Any other arrival comes from a lost part of the log, and its row
 * arrived again since, as a change of the next epoch or restated.
 */
export async function destinationReport(db: Db, destination: string, arrivals: readonly Arrival[]): Promise<DestinationReport> {
  const taken = arrivals.filter((arrival) => arrival.taken && arrival.hook === destination)
  const ids = new Map((await outboxOf(db, destination)).map((row) => [row.message_id, row]))
  const faults: string[] = []
  const got = new Set(taken.map(({ id }) => id))
  const sent = new Set([...ids.values()].filter(({ snapshot }) => snapshot === null).map(({ seq }) => seq))
  // The last reads before a stop enter the outbox at the next start.
  const { cursor = 0 } = (await findDestination(db.read, destination)) ?? {}
  const fannedOut = (await changesOf(db)).filter(({ seq }) => seq <= cursor)
  for (const { seq } of fannedOut) if (!sent.has(seq)) faults.push(`change ${seq} never came into the outbox`)
  for (const [id, { seq }] of ids) if (!got.has(id)) faults.push(`change ${seq} (${id}) never arrived`)
  const rows = await db.read.all(sql<{ least: number | null }>`select min(after_seq) as least from log_epochs where reason <> 'first'`)
  const least = rows[0]?.least ?? Number.POSITIVE_INFINITY
  const lost = new Set<string>()
  for (const [place, { id, body }] of taken.entries()) {
    if (ids.has(id)) continue
    lost.add(id)
    const { data } = JSON.parse(body) as Content
    if (data.seq <= least) faults.push(`${id} is no change, and ${data.seq} is before every epoch`)
    const again = taken.slice(place + 1).some((later) => ids.has(later.id) && isSameRow(JSON.parse(later.body) as Content, data))
    if (!again) faults.push(`${data.entity} ${data.entity_id} (${id}) came from a diverged log and was not sent again`)
  }
  return { faults, fromLogDivergence: lost.size }
}

function isSameRow({ data }: Content, { entity, entity_id }: Content['data']): boolean {
  return data.entity === entity && data.entity_id === entity_id
}
