import { z } from 'zod'
import { secretPartsOfUrl } from '../../base/secret.ts'
import type { Path } from './reading.ts'
import { field, isTree, list } from './reading.ts'

/** `partsOf` returns the secret parts of a text. If `partsOf` is null, the whole text is secret. */
interface Mark {
  readonly partsOf: ((text: string) => readonly string[]) | null
}

const marks = z.registry<Mark>()

/** Marks the schema of a text: the whole text, or parts of it, are secret. @returns the same schema. */
export function markSecret<S extends z.ZodType>(schema: S, partsOf: Mark['partsOf'] = null): S {
  marks.add(schema, { partsOf })
  return schema
}

/** Like `markSecret`, for a URL with secret parts, or an expression that returns a URL. */
export function markUrl<S extends z.ZodType>(schema: S): S {
  return markSecret(schema, secretPartsOfUrl)
}

/** @returns the mark of the schema; undefined if it has none. */
export function markOf(schema: z.core.$ZodType): Mark | undefined {
  return marks.get(schema)
}

/** A setting that is a secret or may contain secrets. */
export interface SecretSetting {
  readonly path: Path
  readonly isWhole: boolean
  readonly parts: readonly string[]
}

/**
 * Finds the secrets in settings. In a union, searches with the schema of each alternative. If `kind` or `type` selects
 * an alternative, the other schemas are used only for keys that the selected schema doesn't have.
 * @param schema schema of all settings or of a part of them.
 * @param given unchecked values, by the keys of the schema.
 * @returns the secret settings and their texts. A setting may be repeated.
 */
export function* secretSettings(schema: z.core.$ZodType, given: unknown, path: Path = []): Generator<SecretSetting> {
  if (given === undefined) return
  const mark = markOf(schema)
  if (mark !== undefined) {
    if (typeof given !== 'string') return
    yield { path, isWhole: mark.partsOf === null, parts: mark.partsOf?.(given) ?? [given.trim().replace(/^whsec_/, '')] }
  } else if (schema instanceof z.ZodObject) {
    for (const [key, part] of Object.entries(schema.shape)) yield* secretSettings(part, field(given, key), [...path, key])
  } else if (schema instanceof z.ZodRecord) {
    for (const [key, part] of Object.entries(isTree(given) ? given : {})) yield* secretSettings(schema.valueType, part, [...path, key])
  } else if (schema instanceof z.ZodArray) {
    for (const [index, part] of list(given).entries()) yield* secretSettings(schema.element, part, [...path, index])
  } else if (schema instanceof z.ZodUnion) {
    const named = namedOption(schema, given)
    const rest = named === null ? given : without(given, Object.keys(named.shape))
    for (const option of schema.options) yield* secretSettings(option, option === named ? given : rest, path)
  } else if (schema instanceof z.ZodPipe) {
    const { in: first, out } = schema
    // This schema first converts the value, for example splits a text into a list. The result is searched.
    if (first instanceof z.ZodTransform) yield* secretSettings(out, first.def.transform(given, { value: given, issues: [] }), path)
    else yield* secretSettings(first, given, path)
  } else if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) {
    yield* secretSettings(schema.unwrap(), given, path)
  }
}

/** @returns the alternative that `kind` or `type` selects; null if there is none. */
function namedOption(schema: z.ZodUnion, given: unknown): z.ZodObject | null {
  if (!(schema instanceof z.ZodDiscriminatedUnion)) return null
  const { discriminator } = schema.def
  const isNamed = (option: z.core.$ZodType): option is z.ZodObject =>
    option instanceof z.ZodObject && option.shape[discriminator].safeParse(field(given, discriminator)).success
  return (schema.options as readonly z.core.$ZodType[]).find(isNamed) ?? null
}

function without(given: unknown, keys: readonly string[]): unknown {
  return isTree(given) ? Object.fromEntries(Object.entries(given).filter(([key]) => !keys.includes(key))) : given
}
