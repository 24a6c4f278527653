import { z } from 'zod'
import { includesRole } from '../../config/schema/roles.ts'
import { shownOutcome } from '../../model/masking.ts'
import type { Query } from '../../store/engine/db.ts'
import { type ListedState, messageIdsLike } from '../../store/outbox/queries.ts'
import { wholeId } from '../actions/names.ts'
import { NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import { name, ofAccount, ofSubmission, period, whole } from './inputs.ts'
import type { OperationContext } from './operation.ts'

/** @returns the filter fields of an outbox operation. @param about text to append to the description of `state`. */
export function choice<S extends ListedState>(states: readonly S[], about = '') {
  return {
    destination: name.optional().describe('only this destination'),
    account: ofAccount,
    submission_id: ofSubmission,
    state: z.enum(states).optional().describe(`only this state${about}`),
    ...period('queued'),
  }
}

export const byId = z.strictObject({ id: name.describe('message id (webhook-id), its first characters, or the outbox id') })

export const wholeMessageId = (q: Query, id: string) => wholeId(id, (text, limit) => messageIdsLike(q, text, limit))

/** @returns a function that returns the error of a row. For viewers, the function omits the destination's answer. */
export function errorFor({ role }: Pick<OperationContext, 'role'>) {
  const isWhole = includesRole(role, 'operator')
  return ({ error, status }: { readonly error: string | null; readonly status: number | null }) =>
    isWhole || error === null ? error : shownOutcome(error, status)
}

/** @returns the rows as one page. @throws NotFoundError if there are no rows. */
export function found<T>(id: string, rows: readonly T[]) {
  if (rows.length === 0) throw new NotFoundError([`the outbox has no change ${printableLine(id)}`])
  return whole(rows)
}

/** @returns the audit entry for showing outbox rows unmasked. */
export function numbersOf({ items }: { readonly items: readonly { readonly outbox_id: number }[] }) {
  return { action: 'outbox.show', target: null, detail: { changes: items.map(({ outbox_id }) => outbox_id) } }
}
