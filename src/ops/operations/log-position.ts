import { z } from 'zod'
import { includesRole } from '../../config/schema/roles.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { ConflictError, RoleError } from '../output/refusals.ts'
import { name } from './inputs.ts'
import type { OperationContext } from './operation.ts'

/** Input fields of the operations that copy tables and then follow the change log. */
export const copying = {
  epoch: name.optional().describe('log epoch of the previous page; rejected if the log has another'),
  whole: z
    .boolean()
    .default(false)
    .describe('include unmasked personal values. Requires the operator role and is recorded. The terminal always includes them'),
}

export const logEpoch = z.string().describe('current epoch of the log')

/**
 * @returns the first and last number of the change log.
 * Rows that are read afterwards contain every change up to `last_seq`.
 * @throws ConflictError if `epoch` is not the current log epoch.
 * @throws RoleError if `whole` is true and the role may not see unmasked values.
 */
export async function logEndsFor(c: OperationContext, { epoch, whole }: { readonly epoch?: string | undefined; readonly whole: boolean }) {
  if (whole && !includesRole(c.role, 'operator'))
    throw new RoleError([`${c.nameOf('whole')}: requires the operator role; you have the ${c.role} role`])
  const info = await infoOf(c.db.read)
  const { log_epoch } = info
  if (epoch !== undefined && epoch !== log_epoch)
    throw new ConflictError([`the log epoch is ${log_epoch}, not ${epoch}. Start over from the tables`], { log_epoch, epoch })
  return info
}
