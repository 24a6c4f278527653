import { columnsWhere, type Entity, type Field, isInChangeLog } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import { jsonTypes } from '../../model/json-types.ts'

/** A JSON Schema of draft 7, as AsyncAPI takes it. */
export type Schema = { readonly [keyword: string]: Json }

/** How a schema refers to another one of the same document. */
export type Ref = (name: string) => Schema

const CAUSES = ['webhook', 'poll', 'backfill', 'reconcile', 'command', 'snapshot']

/** What happens to rows of a table. A table without `gone_at` has no `gone`. */
export function operationsOn(entity: Entity): string[] {
  return ['insert', 'update', ...('gone_at' in entity.fields ? ['gone'] : []), 'purged']
}

/** The name of the schema of a table's columns. */
export function columnsName({ table }: Pick<Entity, 'table'>): string {
  return `${table}.columns`
}

/** The columns of a table that changes have, by its descriptor. All may be missing: personal ones are sent to those who ask for them. */
export function columnsSchema(entity: Entity): Schema {
  const columns = columnsWhere(entity, isInChangeLog).map((column) => [column, columnSchema(entity, column)])
  return { type: 'object', description: entity.holds, properties: Object.fromEntries(columns) as Schema }
}

function columnSchema({ fields, key }: Entity, column: string): Schema {
  const { kind, meaning, cents } = fields[column] as Field
  const { type, ...form } = jsonTypes[kind]
  const nullable = type === undefined ? {} : { type: key.includes(column) ? type : [type, 'null'] }
  return { description: `${meaning}${cents ? ', in cents' : ''}`, ...nullable, ...form }
}

/** The body of a signed webhook, or of a message in a queue, that tells of one change. @param operation of those on that table. */
export function changeSchema(entity: Entity, operation: string, ref: Ref): Schema {
  const properties = {
    type: { const: `${entity.table}.${operation}` },
    timestamp: { type: 'string', format: 'date-time', description: 'when it was stored' },
    data: dataSchema(entity, operation, ref),
    ...(entity.table === 'thread_messages' && { brokerage: BROKERAGE }),
    snapshot: { const: true, description: 'the row as it is, not a change of it' },
    left_filter: { const: true, description: 'with this the record ceased to pass the `filter` of the destination' },
  }
  return { title: `${entity.table}.${operation}`, type: 'object', required: ['type', 'timestamp', 'data'], properties }
}

const BROKERAGE: Schema = {
  type: 'object',
  description: "the message from the brokerage's side",
  required: ['direction', 'echo'],
  properties: {
    direction: { enum: ['sent', 'received'] },
    echo: { type: 'boolean', description: 'the brokerage wrote it itself' },
  },
}

function dataSchema(entity: Entity, operation: string, ref: Ref): Schema {
  const properties = {
    seq: { type: 'integer', description: 'the number of the change; of a snapshot, of the newest one that the row contains' },
    account: { type: 'string' },
    submission_id: { type: ['string', 'null'] },
    entity: { const: entity.table },
    entity_id: { type: 'string', description: 'the key behind the account, as the text of a JSON list' },
    operation: { const: operation },
    changed_at: { type: 'string', format: 'date-time', description: 'when it was stored' },
    cause: { enum: CAUSES },
    ...valuesSchemas(entity, operation, ref),
  }
  return { type: 'object', required: Object.keys(properties), properties }
}

/** What `before` and `after` are. Before, a value that somebody damaged stands as the number or text that it was. */
function valuesSchemas(entity: Entity, operation: string, ref: Ref): { readonly before: Schema; readonly after: Schema } {
  const columns = ref(columnsName(entity))
  const before = {
    type: ['object', 'null'],
    description: 'the changed columns as they were; null when the row is told as it is (`snapshot`)',
    propertyNames: { enum: columnsWhere(entity, isInChangeLog) },
  }
  if (operation === 'insert')
    return { before: { type: 'null' }, after: { allOf: [columns, { type: 'object', required: [...entity.key] }] } }
  if (operation === 'purged') return { before: { type: 'null' }, after: { type: 'object', maxProperties: 0 } }
  return { before, after: columns }
}
