import { z } from 'zod'

/*
 * Fields as the specification writes them. An answer is read tolerantly: formats and vocabularies are told in the description of the
 * interface but never enforced, so that an additive change of the service breaks no caller. What a caller sends is checked as far as the
 * specification limits it.
 */

/** Any text. */
export const text = (description: string) => z.string().describe(description)

/** Any list of texts. */
export const texts = (description: string) => z.array(z.string()).describe(description)

export const flag = (description: string) => z.boolean().describe(description)

export const integer = (description: string) => z.int().describe(description)

/** The id of something, as it came. */
export const uuid = (description: string) => z.string().meta({ description, format: 'uuid' })

/** A moment, RFC 3339, as it came. */
export const moment = (description: string) => z.string().meta({ description, format: 'date-time' })

/** A day, `YYYY-MM-DD`, as it came. */
export const day = (description: string) => z.string().meta({ description, format: 'date' })

/** A text with the values that the specification names. Others are accepted: "changes on this version are additive". */
export const known = (values: readonly string[], description: string) => z.string().meta({ description, 'x-known-values': values })

/** A text that a caller sends and must not leave blank. */
export const filled = (description: string) => z.string().regex(/\S/, 'must not be blank').describe(description)

/** The id of something, in a body that a caller sends. */
export const sentUuid = (description: string) => z.guid().describe(description)

/** A day, `YYYY-MM-DD`, in a body that a caller sends. */
export const sentDay = (description: string) => z.iso.date().describe(description)

/** Who a write is attributed to. */
export const producerEmail = text(
  'The active portal user of the brokerage that the write is attributed to; required with a machine credential',
)

/** @returns a record whose fields the specification does not show. */
export const unshown = (what: string) => z.looseObject({}).meta({ description: `${what}; its fields are not shown`, 'x-not-shown': what })

/** An answer of which the specification shows no field, as it is read: the document describes the emulator's, the service's may be a list. */
export const anyRecords = z.union([z.array(z.looseObject({})), z.looseObject({})])

/** "Markets are grouped in three categories (`ProgramCategory`)." */
export const programCategory = known(
  ['instant_quote', 'binding', 'specialty'],
  'Category of the market: a carrier API, a carrier portal, or e-mail to an underwriter',
)
