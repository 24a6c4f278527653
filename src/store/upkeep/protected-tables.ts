import { entities, entityNamed } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { TableSpec } from '../engine/db.ts'

/** A table that may hold tax ids, and how a row of it is protected. */
export interface ProtectedTable {
  readonly spec: TableSpec
  /** @returns the row without tax ids; the same one when there is none. */
  readonly protect: (protection: Protection, row: Row) => Row
}

/** Rows of the change log hold columns of mirror rows: what is encrypted there bears the mirror row's place. */
const changes: ProtectedTable = {
  spec: {
    table: 'changes',
    key: ['seq'],
    columns: { seq: 'int', account: 'text', entity: 'text', entity_id: 'text', before: 'json', after: 'json' },
  },
  protect: (protection, row) => withProtected(row, ['before', 'after'], (part) => mirrored(protection, row, part)),
}

/** Content of snapshots that wait to be sent: `{ "changed_at", "after" }` as JSON text. */
const outbox: ProtectedTable = {
  spec: {
    table: 'sync_outbox',
    key: ['outbox_id'],
    columns: { outbox_id: 'int', account: 'text', entity: 'text', entity_id: 'text', snapshot: 'text' },
  },
  protect: (protection, row) => textProtected(protection, row, ['snapshot'], String(row['entity']), String(row['entity_id'])),
}

const conflicts: ProtectedTable = {
  spec: {
    table: 'sync_conflicts',
    key: ['account', 'entity', 'submission_id', 'record_id', 'evidence_key'],
    columns: {
      account: 'text',
      entity: 'text',
      submission_id: 'text',
      record_id: 'text',
      evidence_key: 'text',
      kept: 'text',
      refused: 'text',
    },
  },
  protect: (protection, row) => {
    const key = JSON.stringify([row['submission_id'], row['record_id']])
    return textProtected(protection, row, ['kept', 'refused'], String(row['entity']), key)
  },
}

const unreadable: ProtectedTable = {
  spec: {
    table: 'sync_unreadable',
    key: ['account', 'submission_id', 'read', 'evidence_key'],
    columns: { account: 'text', submission_id: 'text', read: 'text', evidence_key: 'text', raw: 'text' },
  },
  protect: (protection, row) =>
    textProtected(protection, row, ['raw'], 'sync_unreadable', JSON.stringify([row['submission_id'], row['read']])),
}

const discovery: ProtectedTable = {
  spec: {
    table: 'sync_path_reads',
    key: ['account', 'submission_id', 'name', 'path'],
    columns: { account: 'text', submission_id: 'text', name: 'text', path: 'text', raw: 'text' },
  },
  protect: (protection, row) => textProtected(protection, row, ['raw'], 'sync_path_reads', JSON.stringify([row['path']])),
}

const extraReads: ProtectedTable = {
  spec: {
    table: 'extra_reads',
    key: ['account', 'submission_id', 'name'],
    columns: { account: 'text', submission_id: 'text', name: 'text', raw: 'raw' },
  },
  protect: (protection, row) => textProtected(protection, row, ['raw'], 'extra_reads', JSON.stringify([row['submission_id'], row['name']])),
}

/** All tables that may hold tax ids, in the order in which they are gone through; bodies of deliveries aside. */
export const protectedTables: readonly ProtectedTable[] = [
  ...entities.map((entity): ProtectedTable => ({ spec: entity, protect: (protection, row) => protection.row(entity, row) })),
  changes,
  outbox,
  conflicts,
  unreadable,
  discovery,
  extraReads,
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

/** @param part columns of the mirror row that the change is about. */
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
