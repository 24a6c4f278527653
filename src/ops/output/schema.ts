import { z } from 'zod'

/** A time in an answer. */
export const time = z.string().meta({ format: 'date-time', description: 'UTC, with six fractional digits' })

/** An object of an answer. @param id its name in the OpenAPI document, which refers to it. */
export function record<S extends z.ZodRawShape>(id: string, shape: S, description?: string) {
  return z.object(shape).meta({ id, ...(description !== undefined && { description }) })
}
