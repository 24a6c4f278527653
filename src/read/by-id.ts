import type { Priority } from '../base/limiter.ts'
import type { IdRead } from '../model/reads.ts'
import type { RecordFields } from '../model/record-fields.ts'
import type { View } from '../model/view.ts'
import type { Db } from '../store/engine/db.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { UpstreamTransientError } from '../upstream/http/errors.ts'
import { readById as viewOf } from '../upstream/wire/binding.ts'

export interface IdRequest {
  readonly read: IdRead
  readonly id: string
  /** Empty if unknown. Required for a bind request. */
  readonly submissionId: string
}

/** The record in the mirror's terms (`view`), and the service's raw answer, which may contain ids of other records. */
export interface IdAnswer {
  readonly view: View
  readonly answer: unknown
}

export interface IdReadContext {
  readonly db: Pick<Db, 'protection'>
  readonly client: UpstreamClient
  readonly recordFields: RecordFields
}

/**
 * Reads a bind request, a policy, or an insured.
 * @throws errors of the client.
 * @throws UpstreamTransientError if the answer isn't the requested record.
 */
export async function readById(o: IdReadContext, asked: IdRequest, signal: AbortSignal, priority?: Priority): Promise<IdAnswer> {
  const { read, id, submissionId } = asked
  const answer = await o.client.byId(read, submissionId, id, signal, priority)
  const view = viewOf(read, id, answer, { recordFields: o.recordFields, protection: o.db.protection })
  if (view !== null) return { view, answer }
  const call = { operation: read, submissionId: submissionId === '' ? null : submissionId, ownId: id, withCursor: false }
  throw new UpstreamTransientError('unavailable', call, 'the answer is not what was asked for')
}
