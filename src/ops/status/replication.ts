import { z } from 'zod'
import { pluralize, sizeText } from '../output/text.ts'

/** If the server keeps this many bytes of log for a replication slot, a warning is shown. */
const BEHIND_BYTES = 1024 ** 3
const MIB = 1024 ** 2

/**
 * Replication of a Postgres server. The program's role sees all of this data only if it has `pg_monitor`.
 */
export const replication = z.object({
  servers: z.int().describe('servers that store an acknowledged delivery: the primary, and those that its commit waits for'),
  synchronous_standby_names: z.string().describe('the setting with the standbys that commits wait for; empty: none'),
  standbys: z
    .array(
      z.object({
        name: z.string().nullable(),
        state: z.string().nullable(),
        sync_state: z.string().nullable().describe('`sync`, `quorum`, `potential` or `async`'),
        behind_bytes: z.int().nullable().describe("bytes of the server's log that it has not written yet"),
      }),
    )
    .nullable()
    .describe('null: not visible'),
  slots: z
    .array(
      z.object({
        name: z.string(),
        active: z.boolean(),
        wal_status: z.string().nullable().describe('`reserved`, `extended`, `unreserved` or `lost`; null if it keeps no log'),
        kept_bytes: z.int().nullable().describe('bytes of log that the server keeps for it'),
      }),
    )
    .nullable()
    .describe('null: not visible'),
})

type Replication = z.output<typeof replication>
type Standby = NonNullable<Replication['standbys']>[number]
type Slot = NonNullable<Replication['slots']>[number]

/** A note about replication. `ok` is false for a warning, and null if the state is unknown. */
export interface ReplicationNote {
  readonly ok: boolean | null
  readonly text: string
}

/** @returns notes about the number of servers that store each delivery, and about risks. */
export function replicationNotes(replication: Replication): ReplicationNote[] {
  return [...copiesNotes(replication), ...(replication.slots ?? []).flatMap(slotNotes)]
}

export function replicationWarnings(replication: Replication | null): string[] {
  return replication === null ? [] : replicationNotes(replication).flatMap(({ ok, text }) => (ok === false ? [text] : []))
}

function copiesNotes({ servers, synchronous_standby_names: names, standbys }: Replication): ReplicationNote[] {
  const stored = `an acknowledged delivery is stored on ${pluralize(servers, 'server')}`
  if (standbys === null)
    return [{ ok: null, text: `number of servers with an acknowledged delivery: the server does not show its standbys` }]
  if (servers === 1) {
    if (standbys.length === 0) return [{ ok: true, text: `${stored}; no standby follows it` }]
    const follow = `${followers(standbys)} ${standbys.length === 1 ? 'follows' : 'follow'}, but commits do not wait for ${standbys.length === 1 ? 'it' : 'them'}`
    return [
      { ok: false, text: `${stored}: ${follow}, so a failover can lose the last deliveries; add a standby to synchronous_standby_names` },
    ]
  }
  const setting = `synchronous_standby_names = ${names}`
  // If the program's role lacks a right, `sync_state` is null.
  const unseen = standbys.filter(({ sync_state }) => sync_state === null).length
  const waitedFor = standbys.filter(({ sync_state }) => sync_state === 'sync' || sync_state === 'quorum').length
  if (waitedFor + unseen < servers - 1) {
    const there = `${waitedFor + unseen} of ${pluralize(servers - 1, 'standby', 'standbys')} ${servers === 2 ? 'is' : 'are'} connected`
    const text = `commits wait for a missing standby, so deliveries are answered 503: ${there} (${setting}); reconnect it`
    return [{ ok: false, text }]
  }
  const others = standbys.length - waitedFor - unseen
  const more = others > 0 ? `; ${pluralize(others, 'other standby', 'other standbys')} may lack the last deliveries` : ''
  const hidden = 'standbys: hidden from this role; grant it pg_monitor'
  return [{ ok: true, text: `${stored} (${setting})${more}` }, ...(unseen > 0 ? [{ ok: null, text: hidden }] : [])]
}

function followers(standbys: readonly Standby[]): string {
  const names = standbys.flatMap(({ name, behind_bytes: behind }) =>
    name === null ? [] : [behind !== null && behind >= MIB ? `${name}, ${sizeText(behind)} behind` : name],
  )
  return `${pluralize(standbys.length, 'standby', 'standbys')}${names.length > 0 ? ` (${names.join('; ')})` : ''}`
}

function slotNotes({ name, active, wal_status: status, kept_bytes: kept }: Slot): ReplicationNote[] {
  const lost = status === 'lost'
  if (!lost && status !== 'unreserved' && (kept ?? 0) < BEHIND_BYTES) return []
  const use = active ? 'in use' : 'not in use'
  if (lost) {
    return [
      { ok: false, text: `slot ${name} (${use}) is lost: its standby can no longer catch up; recreate the standby, and drop the slot` },
    ]
  }
  const keeps = kept === null ? '' : ` and keeps ${sizeText(kept)} of the server's log`
  return [
    { ok: false, text: `slot ${name} (${use}) falls behind${keeps}; reconnect its standby, or drop the slot before the disk is full` },
  ]
}
