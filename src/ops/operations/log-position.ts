import { z } from 'zod'
import { includesRole } from '../../config/schema/roles.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { ConflictError, RoleError } from '../output/refusals.ts'
import { name } from './inputs.ts'
import type { OperationContext } from './operation.ts'

/** Inputs shared by the first load and the change log. */
export const copying = {
  epoch: name.optional().describe('log epoch of the previous page; rejected if the log has another'),
  whole: z
    .boolean()
    .default(false)
    .describe('include unmasked personal values. Requires the operator role and is recorded. The terminal always includes them'),
}

export const logEpoch = z.string().describe('current epoch of the log')

/**
 * @returns the ends of the change log. Later reads contain every change up to `last_seq`.
 * @throws ConflictError if the reader's epoch is not the log's, RoleError if the role does not allow unmasked values.
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
