import { recordFieldsSchema } from '../../src/config/schema/record-fields.ts'
import type { RecordFields } from '../../src/model/record-fields.ts'

/** Default paths of columns of policies and insureds. */
export const defaultRecordFields: RecordFields = recordFieldsSchema.parse({})
