import { z } from 'zod'

declare module 'zod' {
  /** Metadata of a setting. Documents, variables, and `Config` are generated from it. */
  interface GlobalMeta {
    env?: string
    /** True if `<env>_FILE` can name a file with the value. */
    file?: true
    /**
     * True if the same variable in lower case, such as `https_proxy`, overrides this variable. Other programs
     * do the same.
     */
    lowerCase?: true
    /** Default to show in documents (Markdown), if it differs from the schema's default. */
    shown?: string
    /** Set for durations. Their names in `Config` end in `Ms`. */
    unit?: 'ms'
  }
}

/**
 * @returns the schema inside a wrapper (a default, an optional value, or a converted value); null for other schemas.
 */
function inside(schema: z.core.$ZodType): z.core.$ZodType | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) return schema.unwrap()
  if (schema instanceof z.ZodPipe) return schema.in instanceof z.ZodTransform ? schema.out : schema.in
  return null
}

export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = inside(schema)
  return inner === null ? schema : unwrapped(inner)
}

/** @returns the metadata of a schema and of the schemas that it wraps. */
export function metaOf(schema: z.core.$ZodType): z.core.GlobalMeta {
  const inner = inside(schema)
  return { ...(inner && metaOf(inner)), ...z.globalRegistry.get(schema) }
}
