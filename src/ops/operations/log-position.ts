import { z } from 'zod'
import { includesRole } from '../../config/schema/roles.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { ConflictError, RoleError } from '../output/refusals.ts'
import { name } from './inputs.ts'
import type { OperationContext } from './operation.ts'

/** What those who keep a copy of the mirror ask and are told, page by page: fields that the first load and the change log share. */
export const copying = {
  epoch: name.optional().describe('the log epoch of what was read before: it is refused when the log has another'),
  whole: z
    .boolean()
    .default(false)
    .describe(
      'personal values as they are, not masked: takes the role operator, and who was sent them is noted. The terminal shows them always',
    ),
}

/** The numbering of the change log that an answer speaks of. */
export const logEpoch = z.string().describe('the numbering that the log has now')

/**
 * The ends of the change log, for what is read after it: every change up to `last_seq` can be read by then, and stands in its row.
 * @throws ConflictError when the log has another epoch than the reader. @throws RoleError for values that the asker may not see.
 */
export async function logEndsFor(c: OperationContext, { epoch, whole }: { readonly epoch?: string | undefined; readonly whole: boolean }) {
  if (whole && !includesRole(c.role, 'operator'))
    throw new RoleError([`${c.nameOf('whole')}: takes the role operator; who asks has the role ${c.role}`])
  const info = await infoOf(c.db.read)
  const { log_epoch } = info
  if (epoch !== undefined && epoch !== log_epoch)
    throw new ConflictError([`the log epoch is ${log_epoch}, not ${epoch}: a reader of that one starts over`], { log_epoch, epoch })
  return info
}
