import { z } from 'zod'

export const time = z.string().meta({ format: 'date-time', description: 'UTC, with six fractional digits' })

/** Creates the schema of an object in an answer. @param id name of the schema in the OpenAPI document. */
export function record<S extends z.ZodRawShape>(id: string, shape: S, description?: string) {
  return z.object(shape).meta({ id, ...(description !== undefined && { description }) })
}
