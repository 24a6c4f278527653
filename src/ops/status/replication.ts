import { z } from 'zod'
import { pluralize, sizeText } from '../output/text.ts'

/** From here on a slot is said to fall behind, though the server still keeps all that it needs. */
const BEHIND_BYTES = 1024 ** 3
const MIB = 1024 ** 2

/** How a Postgres server hands on what is committed, as far as the program's role may see it (`pg_monitor` may see all). */
export const replication = z.object({
  servers: z.int().describe('on whose disk a delivery lies when it is acknowledged: the primary, and those that its commit waits for'),
  synchronous_standby_names: z.string().describe('the setting that names those; empty: a commit waits for none'),
  standbys: z
    .array(
      z.object({
        name: z.string().nullable(),
        state: z.string().nullable(),
        sync_state: z.string().nullable().describe('`sync`, `quorum`, `potential` or `async`'),
        behind_bytes: z.int().nullable().describe("what it has not yet written, in bytes of the server's log"),
      }),
    )
    .nullable()
    .describe('null: the server does not tell'),
  slots: z
    .array(
      z.object({
        name: z.string(),
        active: z.boolean(),
        wal_status: z.string().nullable().describe('`reserved`, `extended`, `unreserved` or `lost`; null while it holds nothing back'),
        kept_bytes: z.int().nullable().describe('what the server keeps for it, in bytes of its log'),
      }),
    )
    .nullable()
    .describe('null: the server does not tell'),
})

type Replication = z.output<typeof replication>
type Standby = NonNullable<Replication['standbys']>[number]
type Slot = NonNullable<Replication['slots']>[number]

/** What is to be said of the replication of a Postgres server; `ok: false` is a warning, null is what cannot be told. */
export interface ReplicationNote {
  readonly ok: boolean | null
  readonly text: string
}

/** @returns on how many servers an acknowledged delivery lies, and what endangers that. */
export function replicationNotes(replication: Replication): ReplicationNote[] {
  return [...copiesNotes(replication), ...(replication.slots ?? []).flatMap(slotNotes)]
}

/** @returns the warnings alone. */
export function replicationWarnings(replication: Replication | null): string[] {
  return replication === null ? [] : replicationNotes(replication).flatMap(({ ok, text }) => (ok === false ? [text] : []))
}

function copiesNotes({ servers, synchronous_standby_names: names, standbys }: Replication): ReplicationNote[] {
  const lies = `an acknowledged delivery lies on ${pluralize(servers, 'server')}`
  if (standbys === null)
    return [{ ok: null, text: `on how many servers an acknowledged delivery lies: the server does not show its standbys` }]
  if (servers === 1) {
    if (standbys.length === 0) return [{ ok: true, text: `${lies}: no standby follows it` }]
    const follow = `${followers(standbys)} ${standbys.length === 1 ? 'follows' : 'follow'}, and no commit waits for ${standbys.length === 1 ? 'it' : 'them'}`
    return [{ ok: false, text: `${lies}: ${follow}, so a failover can lose the last ones; name a standby in synchronous_standby_names` }]
  }
  const setting = `synchronous_standby_names = ${names}`
  // Without the right to see more, a standby is a row without a state.
  const unseen = standbys.filter(({ sync_state }) => sync_state === null).length
  const waitedFor = standbys.filter(({ sync_state }) => sync_state === 'sync' || sync_state === 'quorum').length
  if (waitedFor + unseen < servers - 1) {
    const there = `${waitedFor + unseen} of ${pluralize(servers - 1, 'standby', 'standbys')} ${servers === 2 ? 'is' : 'are'} there`
    const text = `commits wait for a standby that is away, and deliveries are answered 503: ${there} (${setting}); bring it back`
    return [{ ok: false, text }]
  }
  const others = standbys.length - waitedFor - unseen
  const more = others > 0 ? `; ${pluralize(others, 'further standby', 'further standbys')} may lack the last ones` : ''
  const hidden = 'which standbys follow, which is hidden from this role: grant it pg_monitor'
  return [{ ok: true, text: `${lies} (${setting})${more}` }, ...(unseen > 0 ? [{ ok: null, text: hidden }] : [])]
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
    return [{ ok: false, text: `slot ${name} (${use}) is lost: its standby cannot catch up any more; copy it anew, and drop the slot` }]
  }
  const keeps = kept === null ? '' : ` and keeps ${sizeText(kept)} of the server's log`
  return [
    { ok: false, text: `slot ${name} (${use}) falls behind${keeps}; bring its standby back, or drop the slot before the disk is full` },
  ]
}
