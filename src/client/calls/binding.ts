import type { Channel } from '../http/channel.ts'
import { pathOf } from '../http/paths.ts'
import { type BindRequest, bindRequestCreateSchema, bindRequestSchema } from '../schemas/binding.ts'
import type { BindRequestBody } from './bodies.ts'
import { type Attribution, bodyOf, type FileContent, type FileToSend, fileOf, formOf } from './writing.ts'

/** Calls of the section "Binding" of the specification. */
export interface Binding {
  /**
   * Creates a draft bind request. A repeated call for the same quote returns the existing draft.
   * @throws NotBindable, ValidationError, or AssumptionsUnconfirmed. After AssumptionsUnconfirmed, the
   * service keeps the draft.
   */
  create(submissionId: string, body: BindRequestBody): Promise<BindRequest>
  get(submissionId: string, bindRequestId: string): Promise<BindRequest>
  /**
   * Adds a file to a contingency: an item that the carrier requires before it binds. Possible only while the bind
   * request is `drafted`.
   */
  upload(
    submissionId: string,
    bindRequestId: string,
    contingencyId: string,
    given: Attribution & { readonly file: FileToSend | FileContent; readonly notes?: string },
  ): Promise<BindRequest>
}

export function bindCalls(channel: Channel, producerEmail: string | undefined): Binding {
  return {
    create: (submissionId, body) => {
      const path = pathOf`/broker/submissions/${submissionId}/bind-requests`
      const json = bodyOf(bindRequestCreateSchema, body, producerEmail)
      return channel.ask({ method: 'POST', path, json, retry: 'idempotent', isBind: true }, bindRequestSchema)
    },
    get: (submissionId, bindRequestId) => {
      const path = pathOf`/broker/submissions/${submissionId}/bind-requests/${bindRequestId}`
      return channel.ask({ method: 'GET', path, retry: 'idempotent' }, bindRequestSchema)
    },
    async upload(submissionId, bindRequestId, contingencyId, { file, notes, producerEmail: named = producerEmail }) {
      const form = formOf({ notes, producer_email: named }, [{ field: 'file', ...(await fileOf(file)) }])
      const path = pathOf`/broker/submissions/${submissionId}/bind-requests/${bindRequestId}/contingencies/${contingencyId}/document`
      return await channel.ask({ method: 'POST', path, form, retry: 'at-most-once' }, bindRequestSchema)
    },
  }
}
