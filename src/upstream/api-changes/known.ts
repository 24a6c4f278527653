import type { z } from 'zod'
import { bindRequestSchema } from '../../client/schemas/binding.ts'
import { quoteSessionsSchema } from '../../client/schemas/documents.ts'
import { eventsPageSchema } from '../../client/schemas/events.ts'
import { identitySchema } from '../../client/schemas/identity.ts'
import { outstandingSchema, requirementsViewSchema } from '../../client/schemas/requirements.ts'
import { messageDeliverySchema, threadPageSchema } from '../../client/schemas/thread.ts'
import { workspaceSchema } from '../../client/schemas/workspace.ts'
import type { Surprise } from '../../model/api-changes.ts'
import { isObject } from '../../model/json.ts'
import { SELF_DELIVERY_TYPE } from '../webhook/delivery.ts'
import { type Shape, shapeOf } from './shape.ts'
import { surprisesIn } from './surprises.ts'

/**
 * Schemas of answers and deliveries whose fields the specification defines. Policies and insureds have no schema,
 * because the specification doesn't define their fields.
 */
export const schemas = {
  me: identitySchema,
  events: eventsPageSchema,
  thread: threadPageSchema,
  requirements: requirementsViewSchema,
  outstanding: outstandingSchema,
  workspace: workspaceSchema,
  sessions: quoteSessionsSchema,
  bind_request: bindRequestSchema,
  'submission.message': messageDeliverySchema,
} as const satisfies Readonly<Record<string, z.ZodType>>

/** Known types of deliveries. The specification doesn't define the payload of `submission.events`. */
const deliveryTypes: readonly string[] = ['submission.message', 'submission.events', SELF_DELIVERY_TYPE]

const shapes = new Map<string, Shape>()

function knownShape(resource: string): Shape | null {
  const made = shapes.get(resource)
  if (made !== undefined) return made
  const schema = Object.hasOwn(schemas, resource) ? schemas[resource as keyof typeof schemas] : undefined
  if (schema === undefined) return null
  const shape = shapeOf(schema)
  shapes.set(resource, shape)
  return shape
}

/** Differences between an answer or a delivery and the specification. */
export interface Surprised {
  readonly resource: string
  readonly surprises: readonly Surprise[]
}

const NOTHING: readonly Surprise[] = []

/**
 * @param resource the read, or `delivery`.
 * @returns the differences. For a delivery of a known type, `resource` of the result is that type.
 */
export function surprisesOf(resource: string, body: unknown): Surprised {
  if (resource === 'delivery') return surprisesOfDelivery(body)
  const shape = knownShape(resource)
  return { resource, surprises: shape === null ? NOTHING : surprisesIn(shape, body) }
}

function surprisesOfDelivery(json: unknown): Surprised {
  const type = isObject(json) ? json['type'] : null
  if (typeof type !== 'string') return { resource: 'delivery', surprises: NOTHING }
  if (deliveryTypes.includes(type)) return surprisesOf(type, json)
  return { resource: 'delivery', surprises: [{ path: 'type', kind: 'value', type: 'string' }] }
}
