import { entities } from '../../model/entities.ts'
import type { Entity } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import { TEST_TYPE } from './delivery.ts'
import { changeSchema, columnsName, columnsSchema, operationsOn, type Schema } from './schemas.ts'

const DRAFT = 'http://json-schema.org/draft-07/schema#'

/** The JSON Schema of the webhooks that tell of changes of one table: a document of its own. */
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

/** The AsyncAPI 3 document of all that a destination of kind `webhook` is sent; the bodies are those of kind `queue`, too. @param version of the program. */
export function asyncApi(version: string): Schema {
  const names = [...entities.flatMap((entity) => operationsOn(entity).map((operation) => `${entity.table}.${operation}`)), TEST_TYPE]
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'submission-mirror',
      version,
      description:
        'What a destination of kind `webhook` is sent: one signed request for each change of the mirror, at least once, those of a submission in ' +
        'their order. Take a `webhook-id` that you have had already as the same message. Bear further fields and types. Messages of kind `queue` ' +
        'have the same bodies.',
      license: { name: 'Apache 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    channels: {
      destination: {
        address: null,
        title: 'a destination',
        description: 'the `url` of the destination',
        messages: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
      },
    },
    operations: {
      push: {
        action: 'send',
        channel: { $ref: '#/channels/destination' },
        summary: 'a change is posted to the destination, and again until it is answered 2xx',
        bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      },
    },
    components: { messages: messages(), schemas: schemas(), messageTraits: { signed: SIGNED } },
  }
}

const HEADERS = {
  'webhook-id': 'the id of the message: the same on every attempt',
  'webhook-timestamp': 'seconds since 1970 of the attempt',
  'webhook-signature': '`v1,` and the signature in Base64, for each secret, with spaces between them',
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

function messages(): Schema {
  const ofChanges = entities.flatMap((entity) =>
    operationsOn(entity).map((operation) => message(`${entity.table}.${operation}`, `${entity.table}: ${SUMMARIES[operation]}`)),
  )
  return Object.fromEntries([...ofChanges, message(TEST_TYPE, 'what `destination test` sends')])
}

const SUMMARIES: Readonly<Record<string, string>> = {
  insert: 'a new row',
  update: 'columns of a row changed',
  gone: 'the service does not show the row any more',
  purged: 'an operator had the row removed',
}

function message(name: string, summary: string): [string, Json] {
  const traits = [{ $ref: '#/components/messageTraits/signed' }]
  return [name, { name, title: name, summary, traits, payload: { $ref: `#/components/schemas/${name}` } }]
}

function schemas(): Schema {
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
    timestamp: { type: 'string', format: 'date-time' },
    data: { type: 'object', required: ['destination'], properties: { destination: { type: 'string' } } },
  },
}
