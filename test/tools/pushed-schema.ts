import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import type { Json } from '../../src/model/json.ts'
import { asyncApi } from '../../src/push/contract/asyncapi.ts'

/*
 * Holds what receivers of the tests are sent to the description of it. There nothing may stand that is not described, although a receiver
 * must bear more than it knows.
 */

const described = new Map<string, ValidateFunction>()
let ajv: Ajv | null = null

/** @throws Error with all that is wrong with the body of a signed webhook. */
export function holdToSchema(body: string): void {
  const pushed = JSON.parse(body) as { readonly type: string }
  // Alarms are signed webhooks, too, and no pushes.
  if (pushed.type.startsWith('alarm.')) return
  const isRight = validatorOf(pushed.type)
  if (isRight(pushed)) return
  const faults = isRight.errors?.map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
  throw new Error(`a push is not as it is described: ${faults?.join('; ')}\n${body}`)
}

function validatorOf(type: string): ValidateFunction {
  const known = described.get(type)
  if (known) return known
  if (ajv === null) {
    ajv = new Ajv({ strict: false, allErrors: true })
    formats.default(ajv)
    ajv.addSchema(closed(asyncApi('0.0.0')) as object, 'pushes')
  }
  const found = ajv.getSchema(`pushes#/components/schemas/${type}`)
  if (!found) throw new Error(`a push has the type ${type}, which is not described`)
  described.set(type, found)
  return found
}

/** The document with no further fields wherever some are listed. */
function closed(value: Json): Json {
  if (Array.isArray(value)) return value.map(closed)
  if (value === null || typeof value !== 'object') return value
  const parts = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, closed(part)]))
  return 'properties' in value && value['type'] === 'object' ? { ...parts, additionalProperties: false } : parts
}
