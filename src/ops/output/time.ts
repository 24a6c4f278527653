import { z } from 'zod'

/** A time in an answer. */
export const time = z.string().meta({ format: 'date-time', description: 'UTC, with six fractional digits' })
