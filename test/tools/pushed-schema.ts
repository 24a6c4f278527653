import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'
import type { Json } from '../../src/model/json.ts'
import { asyncApi } from '../../src/push/contract/asyncapi.ts'

/** Checks what receivers of the tests get against its schema. Undocumented fields are errors here, although receivers must ignore them. */

const described = new Map<string, ValidateFunction>()
let ajv: Ajv | null = null

/** @throws Error with all problems of a signed webhook's body. */
export function holdToSchema(body: string): void {
  const pushed = JSON.parse(body) as { readonly type: string }
  // Alarms are signed webhooks, but not pushes.
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

function closed(value: Json): Json {
  if (Array.isArray(value)) return value.map(closed)
  if (value === null || typeof value !== 'object') return value
  const parts = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, closed(part)]))
  return 'properties' in value && value['type'] === 'object' ? { ...parts, additionalProperties: false } : parts
}
