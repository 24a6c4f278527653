import { csvText } from '../../base/csv-text.ts'
import type { FileDestination } from '../../config/config.ts'
import { entityNamed } from '../../model/entities.ts'
import { type ColumnKind, type Entity, isInChangeLog } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import { personalColumns } from '../../model/personal.ts'
import type { PushItem } from '../contract/delivery.ts'

type Cells = Record<string, Json>

/** Columns about the change. Every row has these columns, in CSV and in NDJSON. */
const FRAME: Frame = {
  message_id: (item) => item.messageId,
  seq: (item) => item.seq,
  account: (item) => item.account,
  submission_id: (item) => item.submissionId,
  entity: (item) => item.entity,
  entity_id: (item) => item.entityId,
  operation: (item) => item.operation,
  changed_at: (item) => item.changedAt,
  cause: (item) => item.cause,
  snapshot: (item) => item.snapshot,
  direction: (item) => item.direction,
  echo: (item) => item.echo,
}

type Frame = Readonly<Record<string, (item: PushItem) => Json>>

function frameWith(filter: string | null): Frame {
  return filter === null ? FRAME : { ...FRAME, left_filter: (item) => item.leftFilter }
}

export interface RowWriter {
  readonly extension: string
  readonly head: string
  rows(items: readonly PushItem[]): string
}

/**
 * @returns a writer for rows. The columns depend only on the destination's settings. Rows contain `before` and
 * `after`, as objects in NDJSON and as JSON text in CSV. A CSV file of a single entity has a column for each column of
 * the entity instead.
 */
export function rowWriter(
  destination: Pick<FileDestination, 'format' | 'byteOrderMark' | 'entities' | 'personalFields' | 'filter'>,
): RowWriter {
  const frame = frameWith(destination.filter)
  if (destination.format === 'ndjson') {
    return { extension: 'ndjson', head: '', rows: (items) => items.map((item) => `${JSON.stringify(withObjects(frame, item))}\n`).join('') }
  }
  const entity = singleEntity(destination)
  const writer = entity === null ? objectsAsCsv(frame) : columnsAsCsv(frame, entity, destination.personalFields)
  return destination.byteOrderMark ? { ...writer, head: `\ufeff${writer.head}` } : writer
}

function objectsAsCsv(frame: Frame): RowWriter {
  const columns = [...Object.keys(frame), 'before', 'after']
  const record = (item: PushItem): Cells => ({ ...frameOf(frame, item), before: jsonText(item.before), after: jsonText(item.after) })
  return csvWriter(columns, record)
}

/**
 * Writes a column for each column of the entity. The column `changed` names the columns that the change contains.
 * Without `changed`, a column that became null would look like an unchanged column.
 */
function columnsAsCsv(frame: Frame, entity: Entity, personalFields: readonly string[]): RowWriter {
  const isHidden = (column: string): boolean => {
    const field = `${entity.table}.${column}`
    return personalColumns.includes(field) && !personalFields.includes(field)
  }
  // Leaves out columns that `FRAME` has, such as `direction`. `FRAME` has the direction as the brokerage sees it.
  const own = Object.entries(entity.fields).filter(([column, field]) => isInChangeLog(field) && !(column in FRAME) && !isHidden(column))
  const columns = [...Object.keys(frame), 'changed', ...own.map(([column]) => column)]
  const record = (item: PushItem): Cells => {
    const after = item.after ?? {}
    const cells = own.map(([column, { kind }]) => [column, cell(after[column] ?? null, kind)])
    return { ...frameOf(frame, item), changed: Object.keys(after).join(' '), ...Object.fromEntries(cells) }
  }
  return csvWriter(columns, record)
}

function csvWriter(columns: readonly string[], record: (item: PushItem) => Cells): RowWriter {
  return { extension: 'csv', head: csvText([], columns, true), rows: (items) => csvText(items.map(record), columns, false) }
}

function frameOf(frame: Frame, item: PushItem): Cells {
  return Object.fromEntries(Object.entries(frame).map(([column, value]) => [column, value(item)]))
}

function withObjects(frame: Frame, item: PushItem): Cells {
  return { ...frameOf(frame, item), before: item.before, after: item.after }
}

function jsonText(value: Json): Json {
  return value === null ? null : JSON.stringify(value)
}

function cell(value: Json, kind: ColumnKind): Json {
  const plain = typeof value === 'number' || typeof value === 'boolean' || (kind !== 'json' && typeof value === 'string')
  return plain ? value : jsonText(value)
}

function singleEntity({ entities: names }: Pick<FileDestination, 'entities'>): Entity | null {
  return names?.length === 1 ? entityNamed(names[0] ?? '') : null
}
