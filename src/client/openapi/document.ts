import { z } from 'zod'
import { errorSchema } from '../schemas/errors.ts'
import { eventsDeliverySchema, messageDeliverySchema } from '../schemas/thread.ts'
import { namedSchemas } from './components.ts'
import { type ConditionName, conditionOf } from './conditions.ts'
import { conditionsOf, type Operation, type Parameter } from './operation.ts'
import { namedOnly, operations } from './operations.ts'

type Node = Readonly<Record<string, unknown>>
type StatusOf = (name: ConditionName) => number

const tags = {
  authentication: 'Grants, tokens, and who a token belongs to',
  submissions: 'Creating submissions and following them',
  documents: 'Documents, forms and carrier sessions',
  workspace: 'The carrier applications of a submission',
  binding: 'Binding a quote',
  markets: 'Appetite and market access',
  records: 'Policies and insureds',
} as const

const DESCRIPTION = `The API of the service, as far as its specification shows it. \`x-not-shown\` marks gaps of the specification: assume nothing there. A status marked with it is the emulator's choice. \`x-known-values\` lists the values in the specification; other values are possible.`

/**
 * @param statusOf returns the status of an error. Default: the status in the specification, or the emulator's default
 * if the specification leaves the status open.
 * @returns the OpenAPI 3.1 document of the service.
 */
export function openApiDocument(statusOf: StatusOf = (name) => conditionOf(name).status): Node {
  const schemas = new Schemas()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of operations) {
    paths[operation.path] ??= {}
    const methods = paths[operation.path]
    if (methods) methods[operation.method.toLowerCase()] = describe(operation, schemas, statusOf)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Broker Submission API',
      version: '1.0',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1', description: 'The base URL, with the version of the interface' }],
    security: [{ token: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    'x-not-shown': namedOnly,
    paths,
    webhooks: {
      'submission.message': delivery('message', 'A new message of a thread', schemas.of(messageDeliverySchema)),
      'submission.events': delivery('events', 'New events of a submission', schemas.of(eventsDeliverySchema)),
    },
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'An access token; lives 60 minutes' } },
      schemas: schemas.used(),
    },
  }
}

function describe(operation: Operation, schemas: Schemas, statusOf: StatusOf): Node {
  const { method, path, operationId, summary, tag, scope, role, isPortalSessionOnly, query, headers, body, notShown } = operation
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: `Id of the ${name.replace(/_id$/, '').replaceAll('_', ' ')}`,
    schema: { type: 'string', format: 'uuid' },
  }))
  const others = (list: readonly Parameter[] | undefined, place: string) =>
    (list ?? []).map(({ name, required = false, schema }) => ({ name, in: place, required, ...described(schemas.of(schema)) }))
  const parameters = [...inPath, ...others(query, 'query'), ...others(headers, 'header')]
  return {
    operationId,
    summary,
    tags: [tag],
    ...(scope === 'none' ? { security: [] } : { 'x-scope': scope }),
    ...(role && { 'x-role': role }),
    ...(isPortalSessionOnly && { 'x-portal-session-only': true }),
    ...(notShown && { 'x-not-shown': notShown }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: !body.isOptional, content: { [body.type]: { schema: schemas.of(body.schema) } } } }),
    responses: {
      ...success(operation, schemas, method === 'GET'),
      ...failures(operation, schemas, statusOf),
    },
  }
}

/** The specification shows the status of reads (200), but no status of writes. */
function success({ answer }: Operation, schemas: Schemas, isRead: boolean): Node {
  const content = { [answer.type]: { schema: schemas.of(answer.schema) } }
  if (answer.type === 'text/html') return { '2XX': { description: 'A page', content }, '3XX': { description: 'A redirect' } }
  if (isRead) return { 200: { description: 'Done', content } }
  return { '2XX': { description: 'Done', 'x-not-shown': 'The status', content } }
}

function failures(operation: Operation, schemas: Schemas, statusOf: StatusOf): Node {
  const errors = conditionsOf(operation).map((name) => ({ ...conditionOf(name), status: statusOf(name) }))
  const byStatus = Object.groupBy(errors, ({ status }) => status)
  const entries = Object.entries(byStatus).map(([status, rows = []]) => {
    const refs = [...new Set(rows.map(({ schema }) => JSON.stringify(schemas.of(schema))))].map((text) => JSON.parse(text) as Node)
    const hidden = rows.filter(({ isShown }) => !isShown).map(({ when }) => `The status of: ${when}`)
    const node = {
      description: rows.map(({ when }) => when).join('. '),
      ...(hidden.length > 0 && { 'x-not-shown': hidden }),
      content: { 'application/json': { schema: refs.length === 1 ? refs[0] : { anyOf: refs } } },
    }
    return [status, node]
  })
  const others = { description: 'Another error', 'x-not-shown': 'Which there are' }
  return { ...Object.fromEntries(entries), '4XX': { ...others, content: { 'application/json': { schema: schemas.of(errorSchema) } } } }
}

/**
 * Describes a delivery. The receiver acknowledges a delivery with any 2xx within 10 seconds. The service ignores the
 * body of the 2xx answer.
 */
function delivery(name: string, summary: string, schema: Node): Node {
  return {
    post: {
      operationId: `deliver${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      summary,
      security: [],
      parameters: [
        {
          name: 'svix-id',
          in: 'header',
          required: true,
          description: 'Dedupe key',
          schema: { type: 'string' },
          'x-not-shown': 'The other signature headers',
        },
      ],
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: { '2XX': { description: 'Received, within 10 seconds' }, '4XX': { description: 'Not received: it is sent again' } },
    },
  }
}

function described({ description, ...schema }: Node): Node {
  return { description, schema }
}

const REF = '#/components/schemas/'

/** Generates JSON schemas. Schemas with a name become components of the document. */
class Schemas {
  readonly #names: ReadonlyMap<z.ZodType, string>
  readonly #components: Readonly<Record<string, Node>>
  readonly #used = new Set<string>()

  constructor() {
    const named = namedSchemas()
    this.#names = new Map([...named].map(([name, schema]) => [schema, name]))
    const registry = z.registry<{ id: string }>()
    for (const [name, schema] of named) registry.add(schema, { id: name })
    const { schemas } = z.toJSONSchema(registry, { uri: (id) => `${REF}${id}`, override: plain })
    this.#components = schemas as Record<string, Node>
  }

  /** @returns a reference to a component, or the schema itself if it has no name. */
  of(schema: z.ZodType): Node {
    const name = this.#names.get(schema)
    if (name === undefined) return bare(z.toJSONSchema(schema, { override: plain }))
    this.#use(name)
    return { $ref: `${REF}${name}` }
  }

  /** @returns the components that were referenced so far, by name. */
  used(): Node {
    const entries = [...this.#used].sort().map((name) => [name, bare(this.#components[name] ?? {})])
    return Object.fromEntries(entries) as Node
  }

  #use(name: string): void {
    if (this.#used.has(name)) return
    this.#used.add(name)
    for (const [, other = ''] of JSON.stringify(this.#components[name]).matchAll(/#\/components\/schemas\/(\w+)"/g)) this.#use(other)
  }
}

function bare({ $schema: _, $id: __, ...schema }: Node): Node {
  return schema
}

/** Removes bounds that equal JavaScript's integer range, and an empty `additionalProperties`. */
function plain({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum']
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum']
  const more = jsonSchema['additionalProperties']
  if (typeof more === 'object' && more !== null && Object.keys(more).length === 0 && jsonSchema['properties'])
    delete jsonSchema['additionalProperties']
}
