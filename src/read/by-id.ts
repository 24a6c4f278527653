import type { Priority } from '../base/limiter.ts'
import type { IdRead } from '../model/reads.ts'
import type { RecordFields } from '../model/record-fields.ts'
import type { View } from '../model/view.ts'
import type { Db } from '../store/engine/db.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { UpstreamTransientError } from '../upstream/http/errors.ts'
import { readById as viewOf } from '../upstream/wire/binding.ts'

/** What a read by id asks for. */
export interface AskedId {
  readonly read: IdRead
  readonly id: string
  /** Empty when it is not known; a bind request cannot be read without one. */
  readonly submissionId: string
}

/** The view, and the whole answer, which may name more. */
export interface AnswerById {
  readonly view: View
  readonly answer: unknown
}

/** What a read by id goes by. */
export interface ReadsById {
  readonly db: Pick<Db, 'protection'>
  readonly client: UpstreamClient
  readonly recordFields: RecordFields
}

/**
 * Reads a bind request, a policy or an insured.
 * @throws errors of the client; UpstreamTransientError when the answer is not what was asked for.
 */
export async function readById(o: ReadsById, asked: AskedId, signal: AbortSignal, priority?: Priority): Promise<AnswerById> {
  const { read, id, submissionId } = asked
  const answer = await o.client.byId(read, submissionId, id, signal, priority)
  const view = viewOf(read, id, answer, { recordFields: o.recordFields, protection: o.db.protection })
  if (view !== null) return { view, answer }
  const call = { operation: read, submissionId: submissionId === '' ? null : submissionId, ownId: id, withCursor: false }
  throw new UpstreamTransientError('unavailable', call, 'the answer is not what was asked for')
}
