import type { Surprise, SurpriseKind } from '../../model/api-changes.ts'
import { isObject } from '../../model/json.ts'
import { isKnownIdField } from '../../model/known-ids.ts'
import { parseUuid } from '../../model/uuid.ts'
import { fieldPath, type Shape } from './shape.ts'

const MOST_SURPRISES = 100
const MOST_VALUES = 500_000
const LONGEST_PATH = 200

/**
 * Compares an answer with the specification. Skips the content of unknown fields. Ignores fields named like a known id
 * (`policy_id`), which may appear anywhere. Only a required field can be missing.
 * @returns each difference once: its path and type, never a value.
 */
export function surprisesIn(shape: Shape, value: unknown): Surprise[] {
  const looked: Looked = { found: new Map(), left: MOST_VALUES }
  look(shape, value, looked)
  return [...looked.found.values()]
}

interface Looked {
  readonly found: Map<string, Surprise>
  left: number
}

function look(shape: Shape, value: unknown, looked: Looked): void {
  if (shape.types === null || looked.left-- <= 0) return
  const type = jsonType(value)
  if (!shape.types.has(type) && !(type === 'integer' && shape.types.has('number'))) {
    add(looked, 'type', shape.path, type)
  } else if (typeof value === 'string') {
    if (shape.values !== null && !shape.values.has(value)) add(looked, 'value', shape.path, type)
    else if (shape.format !== null && !hasFormat(shape.format, value)) add(looked, 'type', shape.path, `string, no ${shape.format}`)
  } else if (Array.isArray(value)) {
    if (shape.items !== null) for (const item of value) look(shape.items, item, looked)
  } else if (isObject(value)) {
    lookInto(shape, value, looked)
  }
}

function lookInto({ path, fields, required, each, isOpen }: Shape, value: Record<string, unknown>, looked: Looked): void {
  for (const name in value) {
    const field = fields.get(name) ?? each
    if (field !== null) look(field, value[name], looked)
    else if (!isOpen && !isKnownIdField(name, value[name])) add(looked, 'field', fieldPath(path, plainName(name)), jsonType(value[name]))
  }
  for (const name of required) if (!Object.hasOwn(value, name)) add(looked, 'missing', fieldPath(path, name), 'absent')
}

function add({ found }: Looked, kind: SurpriseKind, path: string, type: string): void {
  const key = `${kind} ${path} ${type}`
  if (found.size < MOST_SURPRISES && !found.has(key)) found.set(key, { kind, path: path.slice(0, LONGEST_PATH), type })
}

function jsonType(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

/** Replaces a key with `{}` if the key may be data, such as an id, an address, or a number. */
export function plainName(name: string): string {
  return /^[A-Za-z_$][\w$-]{0,63}$/.test(name) && !/\d{4}/.test(name) && parseUuid(name) === null ? name : '{}'
}

const forms: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: (text) => parseUuid(text) !== null,
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text),
  'date-time': (text) => /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}/.test(text),
}

function hasFormat(format: string, text: string): boolean {
  return forms[format]?.(text) ?? true
}
