import { z } from 'zod'

// A schema of an answer lists formats and known values, but accepts other values. Otherwise callers would break if the
// service added a value. A schema of a request rejects what the specification doesn't allow.

export const text = (description: string) => z.string().describe(description)

export const texts = (description: string) => z.array(z.string()).describe(description)

export const flag = (description: string) => z.boolean().describe(description)

export const integer = (description: string) => z.int().describe(description)

export const uuid = (description: string) => z.string().meta({ description, format: 'uuid' })

export const moment = (description: string) => z.string().meta({ description, format: 'date-time' })

export const day = (description: string) => z.string().meta({ description, format: 'date' })

/** A text with known values. Other values are accepted, because the service may add some. */
export const known = <const Value extends string>(values: readonly Value[], description: string): z.ZodType<Value | (string & {})> =>
  z.string().meta({ description, 'x-known-values': values })

/** For requests: a text that isn't blank. */
export const filled = (description: string) => z.string().regex(/\S/, 'must not be blank').describe(description)

/** For requests: a uuid. */
export const sentUuid = (description: string) => z.guid().describe(description)

/** For requests: a day as `YYYY-MM-DD`. */
export const sentDay = (description: string) => z.iso.date().describe(description)

export const producerEmail = text(
  'The active portal user of the brokerage that the write is attributed to; required with a machine credential',
)

export const unshown = (what: string) => z.looseObject({}).meta({ description: `${what}; its fields are not shown`, 'x-not-shown': what })

/** For reading answers whose shape isn't specified: an object or a list of objects. */
export const anyRecords = z.union([z.array(z.looseObject({})), z.looseObject({})])

/** The type `ProgramCategory` of the specification. */
export const programCategory = known(
  ['instant_quote', 'binding', 'specialty'],
  'Category of the market: a carrier API, a carrier portal, or e-mail to an underwriter',
)
