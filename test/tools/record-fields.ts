import { recordFieldsSchema } from '../../src/config/schema/record-fields.ts'
import type { RecordFields } from '../../src/model/record-fields.ts'

/** Where columns of policies and insureds are looked for when the settings do not say. */
export const defaultRecordFields: RecordFields = recordFieldsSchema.parse({})
