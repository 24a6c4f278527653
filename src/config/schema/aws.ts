import { z } from 'zod'
import { secret, value } from './builders.ts'
import { alwaysRun } from './cross-checks.ts'
import { field } from './reading.ts'
import { anySecret, matching } from './values.ts'

/** What settings of Amazon's services have in common. */

/** Parses a region. */
export const region = matching(/^[a-z0-9-]{1,64}$/, 'must be a region such as eu-central-1')

/** A key, of whose halves both are given or none. Without one the SDK's own chain finds it: environment, files, a role of the machine. */
export const key = {
  access_key_id: value(matching(/^[\x21-\x7e]{1,256}$/, 'must be the id of a key, without spaces')).optional(),
  secret_access_key: secret(anySecret, '').optional(),
}

/** The two halves of a key come together. */
export const checkKey = z.superRefine((values: unknown, context) => {
  const [id, half] = (['access_key_id', 'secret_access_key'] as const).map((name) => field(values, name) !== undefined)
  if (id === half) return
  const path = [id ? 'secret_access_key' : 'access_key_id']
  context.addIssue({ code: 'custom', path, message: 'is missing; set it, or leave both halves of the key out' })
}, alwaysRun)
