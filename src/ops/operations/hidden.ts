import { z } from 'zod'

/** Returns the masked value of a field. @param row the object that contains the field. */
type Mask = (value: never, row: never) => unknown

const masks = z.registry<{ mask: Mask }>()

/**
 * Marks an output field as hidden, because it may contain personal values or text from outside.
 * @param mask returns the masked value. Not called for null.
 */
export function hidden<T extends z.ZodType, R = object>(field: T, mask: (value: NonNullable<z.output<T>>, row: R) => unknown): T {
  masks.add(field, { mask: mask as Mask })
  return field
}

/** @returns the output with every hidden field masked. */
export function masked(schema: z.ZodType, value: unknown): unknown {
  return shaped(schema, value, { isWhole: false })
}

/**
 * @returns the output with only the fields that the schema has.
 * @param how `isWhole`: true returns hidden fields unmasked; false masks them.
 */
export function shaped(schema: z.ZodType, value: unknown, how: { readonly isWhole: boolean }): unknown {
  if (value === null || value === undefined) return value
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodReadonly)
    return shaped(schema.unwrap() as z.ZodType, value, how)
  if (schema instanceof z.ZodArray) return (value as readonly unknown[]).map((item) => shaped(schema.element as z.ZodType, item, how))
  if (!(schema instanceof z.ZodObject)) return value
  const isOpen = schema.def.catchall instanceof z.ZodUnknown
  const fields = Object.entries(value).flatMap(([name, part]): [string, unknown][] => {
    const field = schema.shape[name] as z.ZodType | undefined
    if (field === undefined) return isOpen ? [[name, part]] : []
    const mark = how.isWhole || part === null || part === undefined ? undefined : masks.get(field)
    return [[name, mark ? mark.mask(part as never, value as never) : shaped(field, part, how)]]
  })
  return Object.fromEntries(fields)
}
