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

/** Which changes; states are those that the operation can be about. */
export function choice<S extends ListedState>(states: readonly S[], about = '') {
  return {
    destination: name.optional().describe('only to this destination'),
    account: ofAccount,
    submission_id: ofSubmission,
    state: z.enum(states).optional().describe(`only in this state${about}`),
    ...period('queued'),
  }
}

/** One message, or one row. */
export const byId = z.strictObject({ id: name.describe('its message id (webhook-id; the beginning will do), or its number in the list') })

/** The message id, or the number, of what is only read. */
export const wholeMessageId = (q: Query, id: string) => wholeId(id, (text, limit) => messageIdsLike(q, text, limit))

/** @returns a row's failure as whoever asks may look for it: a viewer without what was answered. */
export function errorFor({ role }: Pick<OperationContext, 'role'>) {
  const isWhole = includesRole(role, 'operator')
  return ({ error, status }: { readonly error: string | null; readonly status: number | null }) =>
    isWhole || error === null ? error : shownOutcome(error, status)
}

/** Hands rows out. @throws NotFoundError when there are none. */
export function found<T>(id: string, rows: readonly T[]) {
  if (rows.length === 0) throw new NotFoundError([`there is no change ${printableLine(id)} in the outbox`])
  return whole(rows)
}

/** The audit entry of who saw rows whole. */
export function numbersOf({ items }: { readonly items: readonly { readonly outbox_id: number }[] }) {
  return { action: 'outbox.show', target: null, detail: { changes: items.map(({ outbox_id }) => outbox_id) } }
}
