import { entities } from '../../model/entities.ts'
import { columnsWhere, type Entity, type Field, isInChangeLog } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import { jsonTypes } from '../../model/json-types.ts'
import { TEST_TYPE } from './delivery.ts'

/** A JSON Schema (draft 7, as AsyncAPI requires). */
type Schema = { readonly [keyword: string]: Json }

/** Returns a reference to another schema of the document. */
type Ref = (name: string) => Schema

const DRAFT = 'http://json-schema.org/draft-07/schema#'
const CAUSES = ['webhook', 'poll', 'backfill', 'reconcile', 'command', 'snapshot']
const TIME = { type: 'string', format: 'date-time' }

/** @returns the JSON Schema of webhook bodies about one table's changes, as a complete document. */
export function tableSchema(entity: Entity): Schema {
  const ref = (name: string) => ({ $ref: `#/definitions/${name}` })
  return {
    $schema: DRAFT,
    title: entity.table,
    description: entity.holds,
    oneOf: operationsOn(entity).map((operation) => changeSchema(entity, operation, ref)),
    definitions: { [columnsName(entity)]: columnsSchema(entity) },
  }
}

/**
 * @returns the AsyncAPI 3 document of a destination of kind `webhook`. Kind `queue` sends the same bodies.
 * @param version version of the program.
 */
export function asyncApi(version: string): Schema {
  const messages = allMessages()
  const names = Object.keys(messages).map((name): [string, Json] => [name, { $ref: `#/components/messages/${name}` }])
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'submission-mirror',
      version,
      description:
        'A destination of kind `webhook` receives one signed request for each change of the mirror, at least once. The changes of a submission ' +
        'arrive in order. A repeated `webhook-id` is the same message. Ignore unknown fields and types. Messages of kind `queue` have the same ' +
        'bodies.',
      license: { name: 'Apache 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    channels: {
      destination: {
        address: null,
        title: 'a destination',
        description: 'the `url` of the destination',
        messages: Object.fromEntries(names),
      },
    },
    operations: {
      push: {
        action: 'send',
        channel: { $ref: '#/channels/destination' },
        summary: 'posts a change to the destination, and repeats it until the answer is 2xx',
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      },
    },
    components: { messages, schemas: allSchemas(), messageTraits: { signed: SIGNED } },
  }
}

const HEADERS = {
  'webhook-id': 'id of the message: the same on every attempt',
  'webhook-timestamp': 'time of the attempt, in seconds since 1970',
  'webhook-signature': '`v1,` and the signature in Base64, for each secret, separated by spaces',
}

const SIGNED: Schema = {
  description: 'signed as Standard Webhooks',
  externalDocs: { url: 'https://www.standardwebhooks.com' },
  headers: {
    type: 'object',
    required: Object.keys(HEADERS),
    properties: Object.fromEntries(Object.entries(HEADERS).map(([name, description]) => [name, { type: 'string', description }])),
  },
}

const SUMMARIES: Readonly<Record<string, string>> = {
  insert: 'a new row',
  update: 'columns of a row changed',
  gone: 'the service no longer shows the row',
  purged: 'an operator removed the row',
}

function allMessages(): Schema {
  const changes = entities.flatMap((entity) =>
    operationsOn(entity).map((operation) => message(`${entity.table}.${operation}`, `${entity.table}: ${SUMMARIES[operation]}`)),
  )
  return Object.fromEntries([...changes, message(TEST_TYPE, 'the message of `destination test`')])
}

function message(name: string, summary: string): [string, Json] {
  const traits = [{ $ref: '#/components/messageTraits/signed' }]
  return [name, { name, title: name, summary, traits, payload: { $ref: `#/components/schemas/${name}` } }]
}

function allSchemas(): Schema {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const ofTables = entities.flatMap((entity): [string, Schema][] => [
    [columnsName(entity), columnsSchema(entity)],
    ...operationsOn(entity).map((operation): [string, Schema] => [`${entity.table}.${operation}`, changeSchema(entity, operation, ref)]),
  ])
  return Object.fromEntries([...ofTables, [TEST_TYPE, TEST]])
}

const TEST: Schema = {
  type: 'object',
  required: ['type', 'timestamp', 'data'],
  properties: {
    type: { const: TEST_TYPE },
    timestamp: TIME,
    data: { type: 'object', required: ['destination'], properties: { destination: { type: 'string' } } },
  },
}

/** @returns the operations on rows of a table. Without the column `gone_at`, a table has no operation `gone`. */
function operationsOn(entity: Entity): string[] {
  return ['insert', 'update', ...('gone_at' in entity.fields ? ['gone'] : []), 'purged']
}

function columnsName({ table }: Pick<Entity, 'table'>): string {
  return `${table}.columns`
}

/**
 * @returns the schema of a table's columns. No column is required: an update has only changed columns, and personal
 * columns need an opt-in.
 */
function columnsSchema(entity: Entity): Schema {
  const columns = columnsWhere(entity, isInChangeLog).map((column) => [column, columnSchema(entity, column)])
  return { type: 'object', description: entity.holds, properties: Object.fromEntries(columns) as Schema }
}

function columnSchema({ fields, key }: Entity, column: string): Schema {
  const { kind, meaning, cents } = fields[column] as Field
  const { type, ...form } = jsonTypes[kind]
  const nullable = type === undefined ? {} : { type: key.includes(column) ? type : [type, 'null'] }
  return { description: `${meaning}${cents ? ', in cents' : ''}`, ...nullable, ...form }
}

/** @returns the schema of a webhook or queue message about one change. */
function changeSchema(entity: Entity, operation: string, ref: Ref): Schema {
  const properties = {
    type: { const: `${entity.table}.${operation}` },
    timestamp: { ...TIME, description: 'when the change was stored' },
    data: dataSchema(entity, operation, ref),
    ...(entity.table === 'thread_messages' && { brokerage: BROKERAGE }),
    snapshot: { const: true, description: 'the row as it is now, not a change of it' },
    left_filter: { const: true, description: 'the record no longer passes the `filter` of the destination' },
  }
  return { title: `${entity.table}.${operation}`, type: 'object', required: ['type', 'timestamp', 'data'], properties }
}

const BROKERAGE: Schema = {
  type: 'object',
  description: "the brokerage's view of the message",
  required: ['direction', 'echo'],
  properties: {
    direction: { enum: ['sent', 'received'] },
    echo: { type: 'boolean', description: 'the brokerage wrote the message' },
  },
}

function dataSchema(entity: Entity, operation: string, ref: Ref): Schema {
  const properties = {
    seq: { type: 'integer', description: 'number of the change; in a snapshot, of the last change in the log when the row was read' },
    account: { type: 'string' },
    submission_id: { type: ['string', 'null'] },
    entity: { const: entity.table },
    entity_id: { type: 'string', description: 'the key after the account, as the text of a JSON list' },
    operation: { const: operation },
    changed_at: { ...TIME, description: 'when the change was stored' },
    cause: { enum: CAUSES },
    ...valuesSchemas(entity, operation, ref),
  }
  return { type: 'object', required: Object.keys(properties), properties }
}

function valuesSchemas(entity: Entity, operation: string, ref: Ref): { readonly before: Schema; readonly after: Schema } {
  const columns = ref(columnsName(entity))
  const before = {
    type: ['object', 'null'],
    description: "the changed columns' old values; null for a row as it is now (`snapshot`)",
    propertyNames: { enum: columnsWhere(entity, isInChangeLog) },
  }
  if (operation === 'insert')
    return { before: { type: 'null' }, after: { allOf: [columns, { type: 'object', required: [...entity.key] }] } }
  if (operation === 'purged') return { before: { type: 'null' }, after: { type: 'object', maxProperties: 0 } }
  return { before, after: columns }
}
