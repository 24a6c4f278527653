import { sealedParts } from '../../base/sealed.ts'
import { entities, entityNamed } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { TableSpec } from '../engine/db.ts'
import { syncConflicts, syncUnreadable } from '../schema/completeness.ts'
import { changes as changesTable } from '../schema/log.ts'
import { syncOutbox, syncPushTokens } from '../schema/push.ts'
import { extraReads as extraReadsTable, syncPathReads } from '../schema/reads.ts'
import { specOf } from '../schema/table.ts'

export interface ProtectedTable {
  readonly spec: TableSpec
  /** @returns the protected row; the same object if nothing in the row needs protection. */
  readonly protect: (protection: Protection, row: Row) => Row
}

/**
 * A change contains columns of a row in the mirror. An encrypted value in a change is bound to that row, not
 * to the change.
 */
const changes: ProtectedTable = {
  spec: specOf(changesTable, 'seq', 'account', 'entity', 'entity_id', 'before', 'after'),
  protect: (protection, row) => withProtected(row, ['before', 'after'], (part) => mirrored(protection, row, part)),
}

/**
 * Outbox columns with JSON text. `snapshot`: content of a snapshot row. `progress`: may contain answers of a target.
 */
const outbox: ProtectedTable = {
  spec: specOf(syncOutbox, 'outbox_id', 'account', 'entity', 'entity_id', 'snapshot', 'progress'),
  protect: (protection, row) => textProtected(protection, row, ['snapshot', 'progress'], String(row['entity']), String(row['entity_id'])),
}

const conflicts: ProtectedTable = {
  spec: specOf(syncConflicts),
  protect: (protection, row) => {
    const key = JSON.stringify([row['submission_id'], row['record_id']])
    return textProtected(protection, row, ['kept', 'refused'], String(row['entity']), key)
  },
}

const unreadable: ProtectedTable = {
  spec: specOf(syncUnreadable),
  protect: (protection, row) =>
    textProtected(protection, row, ['raw'], 'sync_unreadable', JSON.stringify([row['submission_id'], row['read']])),
}

const discovery: ProtectedTable = {
  spec: specOf(syncPathReads, 'account', 'submission_id', 'name', 'path', 'raw'),
  protect: (protection, row) => textProtected(protection, row, ['raw'], 'sync_path_reads', JSON.stringify([row['path']])),
}

const extraReads: ProtectedTable = {
  spec: specOf(extraReadsTable),
  protect: (protection, row) => textProtected(protection, row, ['raw'], 'extra_reads', JSON.stringify([row['submission_id'], row['name']])),
}

/** Deletes tokens that were encrypted with a key other than the current one. The next login gets new tokens. */
const pushTokens: ProtectedTable = {
  spec: specOf(syncPushTokens, 'destination', 'tokens'),
  protect(protection, row) {
    const sealed = typeof row['tokens'] === 'string' ? sealedParts(row['tokens']) : null
    return sealed === null || sealed.keyId === protection.sealKeyId ? row : { ...row, tokens: null }
  },
}

/**
 * All tables that may contain tax ids or encrypted tokens, in the order of processing. Tables with bodies of deliveries
 * aren't included; see `BODIES` in protect.ts.
 */
export const protectedTables: readonly ProtectedTable[] = [
  ...entities.map((entity): ProtectedTable => ({ spec: entity, protect: (protection, row) => protection.row(entity, row) })),
  changes,
  outbox,
  conflicts,
  unreadable,
  discovery,
  extraReads,
  pushTokens,
]

function withProtected(row: Row, columns: readonly string[], protect: (part: Row) => Row): Row {
  let written = row
  for (const column of columns) {
    const part = row[column]
    if (typeof part !== 'object' || part === null || Array.isArray(part)) continue
    const next = protect(part as Row)
    if (next !== part) written = { ...written, [column]: next }
  }
  return written
}

/**
 * Protects the columns in a change as columns of the mirror's row.
 * @param change row of the change log.
 * @param part the change's `before` or `after`.
 * @returns the protected part. If nothing in it needs protection, the same object.
 */
function mirrored(protection: Protection, change: Row, part: Row): Row {
  const entity = entityNamed(String(change['entity']))
  if (entity === null) return part
  const values = JSON.parse(String(change['entity_id'])) as Row[string][]
  const key = Object.fromEntries(entity.key.slice(1).map((column, position) => [column, values[position] ?? null]))
  const whole: Row = { ...part, ...key, account: change['account'] ?? null }
  const next = protection.row(entity, whole)
  return next === whole ? part : Object.fromEntries(Object.keys(part).map((column) => [column, next[column] ?? null]))
}

function textProtected(protection: Protection, row: Row, columns: readonly string[], table: string, key: string): Row {
  let written = row
  for (const column of columns) {
    const text = row[column]
    if (typeof text !== 'string') continue
    const next = protection.text(text, { account: String(row['account']), table, key, column: 'raw' })
    if (next !== text) written = { ...written, [column]: next }
  }
  return written
}
