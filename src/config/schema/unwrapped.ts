import { z } from 'zod'

declare module 'zod' {
  /** Metadata of a setting. Documents, variables and `Config` are generated from it. */
  interface GlobalMeta {
    env?: string
    /** Whether `<env>_FILE` may name a file with the value. */
    file?: true
    /** Whether the same variable in lower case overrides this one, as in other programs. */
    lowerCase?: true
    /** Documented default (Markdown), if it differs from the schema's. */
    shown?: string
    /** For durations. Their names in `Config` end in `Ms`. */
    unit?: 'ms'
  }
}

/** @returns the content of a wrapper (a default, an optional or converted value); null for other schemas. */
function inside(schema: z.core.$ZodType): z.core.$ZodType | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) return schema.unwrap()
  if (schema instanceof z.ZodPipe) return schema.in instanceof z.ZodTransform ? schema.out : schema.in
  return null
}

export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = inside(schema)
  return inner === null ? schema : unwrapped(inner)
}

/** @returns the merged metadata of a schema and its wrappers. */
export function metaOf(schema: z.core.$ZodType): z.core.GlobalMeta {
  const inner = inside(schema)
  return { ...(inner && metaOf(inner)), ...z.globalRegistry.get(schema) }
}
