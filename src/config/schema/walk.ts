import { z } from 'zod'

declare module 'zod' {
  /** What a setting's schema says of it besides its values. Documents, variables and `Config` follow from it. */
  interface GlobalMeta {
    /** Its variable. */
    env?: string
    /** Whether `<env>_FILE` may name a file with the value. */
    file?: true
    /** Whether the variable in lower case is read too, and first, as other programs do. */
    lowerCase?: true
    /** What documents show as the default, in Markdown, where the schema has none or another. */
    shown?: string
    /** Durations are milliseconds, and have names that end in `Ms`. */
    unit?: 'ms'
  }
}

/** @returns what a wrapper holds (a default, an optional value, a text that is split or converted); null for a schema that is none. */
function inside(schema: z.core.$ZodType): z.core.$ZodType | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) return schema.unwrap()
  if (schema instanceof z.ZodPipe) return schema.in instanceof z.ZodTransform ? schema.out : schema.in
  return null
}

/** @returns the schema without its wrappers: a section, a list, or alternatives. */
export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = inside(schema)
  return inner === null ? schema : unwrapped(inner)
}

/** @returns what a schema and its wrappers say of the setting. */
export function metaOf(schema: z.core.$ZodType): z.core.GlobalMeta {
  const inner = inside(schema)
  return { ...(inner && metaOf(inner)), ...z.globalRegistry.get(schema) }
}
