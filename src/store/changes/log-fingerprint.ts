import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/**
 * Columns that distinguish two changes with the same number in diverged logs. The values of these columns never change.
 */
export interface FingerprintedChange {
  readonly account: string
  readonly entity: string
  readonly entity_id: string
  readonly operation: string
  readonly changed_at: string
}

export function fingerprintOf({ account, entity, entity_id, operation, changed_at }: FingerprintedChange): string {
  return hash('sha256', JSON.stringify([account, entity, entity_id, operation, changed_at]), 'base64url').slice(0, 22)
}

/** Fingerprints of changes, by number. Changes that retention removed are left out. */
export async function fingerprintsOf(q: Query, seqs: readonly number[]): Promise<ReadonlyMap<number, string>> {
  if (seqs.length === 0) return new Map()
  const rows = await q.all(sql<FingerprintedChange & { seq: number }>`
    select seq, account, entity, entity_id, operation, changed_at from changes where seq in (${sql.join(seqs.map((seq) => sql.lit(seq)))})`)
  return new Map(rows.map((row) => [Number(row.seq), fingerprintOf(row)]))
}
