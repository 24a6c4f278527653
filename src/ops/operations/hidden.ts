import { z } from 'zod'

/** How a field is shown to whoever may not see its whole value. @param row the object that it stands in. */
type Mask = (value: never, row: never) => unknown

const masks = z.registry<{ mask: Mask }>()

/** Marks a field of an output that may hold personal values, or repeat what somebody else said. null stays null. */
export function hidden<T extends z.ZodType, R = object>(field: T, mask: (value: NonNullable<z.output<T>>, row: R) => unknown): T {
  masks.add(field, { mask: mask as Mask })
  return field
}

/** The output with every hidden field masked. @param value of that schema. */
export function masked(schema: z.ZodType, value: unknown): unknown {
  if (value === null || value === undefined) return value
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return masked(schema.unwrap() as z.ZodType, value)
  if (schema instanceof z.ZodArray) return (value as readonly unknown[]).map((item) => masked(schema.element as z.ZodType, item))
  if (!(schema instanceof z.ZodObject)) return value
  const fields = Object.entries(value).map(([name, part]) => {
    const field = schema.shape[name] as z.ZodType | undefined
    const mark = field && masks.get(field)
    if (mark && part !== null && part !== undefined) return [name, mark.mask(part as never, value as never)]
    return [name, field ? masked(field, part) : part]
  })
  return Object.fromEntries(fields)
}
