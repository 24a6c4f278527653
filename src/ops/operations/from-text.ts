import { z } from 'zod'

/** Type of a field, also of an optional field. `record`: texts by name. `objects`: a list that only JSON can give. */
export type Kind = 'text' | 'number' | 'boolean' | 'list' | 'record' | 'objects'

export function kindOf(field: z.ZodType): Kind {
  if (field instanceof z.ZodOptional || field instanceof z.ZodNullable || field instanceof z.ZodDefault)
    return kindOf(field.unwrap() as z.ZodType)
  if (field instanceof z.ZodNumber) return 'number'
  if (field instanceof z.ZodBoolean) return 'boolean'
  if (field instanceof z.ZodRecord) return 'record'
  if (!(field instanceof z.ZodArray)) return 'text'
  return field.element instanceof z.ZodObject ? 'objects' : 'list'
}

/** @returns true if the terminal reads the field from a file. Such a field has a `contentMediaType`. */
export function isDocument(field: z.ZodType): boolean {
  return field.meta()?.['contentMediaType'] !== undefined
}

export function isOptional(field: z.ZodType): boolean {
  return field.safeParse(undefined).success
}

/**
 * Converts the texts of a query or command line to the types of the schema.
 * Does not change invalid texts, because the schema reports these texts later.
 */
export function valuesOf(schema: z.ZodType, given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!(schema instanceof z.ZodObject)) return given
  const shape: Readonly<Record<string, z.ZodType>> = schema.shape
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => [name, Object.hasOwn(shape, name) ? valueFrom(shape[name] as z.ZodType, text) : text]),
  )
}

const BOOLEANS: ReadonlyMap<unknown, boolean> = new Map([
  ['true', true],
  ['false', false],
])

function valueFrom(field: z.ZodType, text: unknown): unknown {
  const kind = kindOf(field)
  if (kind === 'list' && text !== undefined) return isOfWords(field) ? [text].flat().flatMap(wordsIn) : [text].flat()
  if (kind === 'record') return Array.isArray(text) ? (recordOf(text) ?? text) : text
  if (kind === 'boolean') return BOOLEANS.get(text) ?? text
  return kind === 'number' && typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : text
}

/** Parses texts such as `name=value`. @returns undefined if a text is malformed. */
function recordOf(pairs: readonly string[]): Record<string, string> | undefined {
  const found = pairs.flatMap((pair) => {
    const [, name, value = ''] = /^\s*([^=\s][^=]*)=(.*)$/s.exec(pair) ?? []
    return name === undefined ? [] : [[name.trim(), value] as const]
  })
  return found.length === pairs.length ? Object.fromEntries(found) : undefined
}

function isOfWords(field: z.ZodType): boolean {
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault) return isOfWords(field.unwrap() as z.ZodType)
  return field instanceof z.ZodArray && field.element instanceof z.ZodEnum
}

function wordsIn(text: unknown): unknown {
  return typeof text === 'string' ? text.split(',').map((word) => word.trim()) : text
}
