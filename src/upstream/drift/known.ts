import type { z } from 'zod'
import { bindRequestSchema } from '../../client/schemas/binding.ts'
import { quoteSessionsSchema } from '../../client/schemas/documents.ts'
import { eventsPageSchema } from '../../client/schemas/events.ts'
import { identitySchema } from '../../client/schemas/identity.ts'
import { outstandingSchema, requirementsViewSchema } from '../../client/schemas/requirements.ts'
import { messageDeliverySchema, threadPageSchema } from '../../client/schemas/thread.ts'
import { workspaceSchema } from '../../client/schemas/workspace.ts'
import type { DriftWatch } from '../../model/interface-drift.ts'
import { isObject } from '../../model/json.ts'
import { SELF_DELIVERY_TYPE } from '../webhook/delivery.ts'
import { type Shape, shapeOf } from './shape.ts'
import { surprisesIn } from './surprises.ts'

/** What is read and has fields that the specification shows. Of policies and insureds it shows none. */
const schemas = {
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

/** The payload of `submission.events` is not shown; its events are read again from the feed. */
const deliveryTypes: readonly string[] = ['submission.message', 'submission.events', SELF_DELIVERY_TYPE]

const shapes = new Map<string, Shape>()

/** @returns what the specification shows of a resource; made when it is first asked for. */
function knownShape(resource: string): Shape | null {
  const made = shapes.get(resource)
  if (made !== undefined) return made
  const schema = Object.hasOwn(schemas, resource) ? schemas[resource as keyof typeof schemas] : undefined
  if (schema === undefined) return null
  const shape = shapeOf(schema)
  shapes.set(resource, shape)
  return shape
}

/** Tells `watch` what an answer has beyond the specification. @param operation the read. */
export function lookAtAnswer(watch: DriftWatch, account: string, operation: string, body: unknown): void {
  const shape = knownShape(operation)
  const surprises = shape === null ? [] : surprisesIn(shape, body)
  if (surprises.length > 0) watch.note(account, operation, surprises)
}

/** Tells `watch` what the body of a delivery has beyond the specification. */
export function lookAtDelivery(watch: DriftWatch, account: string, json: unknown): void {
  if (!isObject(json) || typeof json['type'] !== 'string') return
  if (!deliveryTypes.includes(json['type'])) watch.note(account, 'delivery', [{ path: 'type', kind: 'value', type: 'string' }])
  else lookAtAnswer(watch, account, json['type'], json)
}
