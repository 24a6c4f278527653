import type { SwaggerOptions } from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import type { Role } from '../../../config/schema/roles.ts'
import { isObject } from '../../../model/json.ts'
import { subjects } from '../../operations/index.ts'
import { SESSION_COOKIE } from './sessions.ts'

/** Tags of routes that belong to no `Subject`. */
const tags: Readonly<Record<string, string>> = {
  description: 'this description',
  rejected: 'rejected deliveries',
  session: 'sign in and out',
}

const subjectTags = Object.fromEntries(Object.entries(subjects).map(([name, { about }]) => [name, about]))

/** @returns options for generating the OpenAPI description from the schemas of the routes. */
export function descriptionOptions(version: string): SwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'submission-mirror',
        version,
        description: 'The commands of submission-mirror as an HTTP API. Every action is recorded; see `/api/v1/actions`.',
        license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'this ops port' }],
      tags: Object.entries({ ...subjectTags, ...tags }).map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer', description: 'one of OPS_TOKENS' },
          session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE, description: 'set by `POST /api/v1/session`' },
        },
      },
      security: [{ token: [] }, { session: [] }],
    },
    transform: (given) => {
      const { schema, url } = jsonSchemaTransform(given)
      const { method, config } = given.route
      return { schema: { operationId: operationIdOf(String(method), url), ...schema, ...roleOf(config?.role, schema) }, url }
    },
    transformObject: (document) => withoutUnusedSchemas(jsonSchemaTransformObject(document)),
  }
}

/** Adds the required role to the description of a route. Routes without sign-in require no role. */
function roleOf(
  role: Role | undefined,
  { description, security }: { readonly description?: string; readonly security?: readonly unknown[] },
) {
  if (role === undefined || security?.length === 0) return {}
  return { description: [description, `Requires the ${role} role.`].filter(Boolean).join(' '), 'x-required-role': role }
}

/** @returns the operation id of a route, such as `getInboxById` or `postInboxReplay`. */
function operationIdOf(method: string, url: string): string {
  const words = url.replace('/api/v1/', '').split(/[/.-]/)
  const parts = words.map((word) => (word.startsWith(':') ? `By${capitalized(word.slice(1))}` : capitalized(word)))
  return `${method.toLowerCase()}${parts.join('')}`
}

function capitalized(word: string): string {
  return word.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Marks request bodies as optional if they may be null. */
function makeNullableBodiesOptional(paths: unknown): void {
  for (const methods of Object.values(isObject(paths) ? paths : {})) {
    for (const operation of Object.values(isObject(methods) ? methods : {})) {
      const body = isObject(operation) ? operation['requestBody'] : null
      if (isObject(body) && JSON.stringify(body['content']).includes('{"type":"null"}]')) body['required'] = false
    }
  }
}

/** Removes schemas that no route uses. Each named schema is generated twice, for input and for output. */
function withoutUnusedSchemas<T extends object>(document: T): T {
  const { components, ...rest } = document as Record<string, unknown>
  const all = isObject(components) && isObject(components['schemas']) ? components['schemas'] : {}
  makeNullableBodiesOptional(rest['paths'])
  const used = new Set<string>()
  const look = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue
      used.add(name)
      look(all[name] ?? null)
    }
  }
  look(rest)
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)))
  return { ...rest, components: { ...(components as object), schemas } } as T
}
