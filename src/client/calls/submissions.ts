import { type Feed, readFeed } from '../feeds.ts'
import type { Call, Channel } from '../http/channel.ts'
import { pathOf } from '../http/paths.ts'
import type { Reads } from '../http/reading.ts'
import { type Answers, type AnswersResult, answersResultSchema, answersSchema } from '../schemas/answers.ts'
import { selectionSchema } from '../schemas/appetite.ts'
import { type CheckpointReceipt, checkpointReceiptSchema, checkpointSchema, quoteProductsSchema } from '../schemas/checkpoint.ts'
import {
  type FormFillSession,
  formFillSchema,
  formFillSessionSchema,
  type QuoteSessions,
  quoteSessionsSchema,
  type SubmissionDocument,
  submissionDocumentSchema,
} from '../schemas/documents.ts'
import { type EventsPage, eventsPageSchema, type MarketEvent } from '../schemas/events.ts'
import { type Outstanding, outstandingSchema, type RequirementsView, requirementsViewSchema } from '../schemas/requirements.ts'
import {
  type CreatedSubmission,
  createdSubmissionSchema,
  type FinalizeAnswer,
  finalizeAnswerSchema,
  submissionCreateSchema,
} from '../schemas/submission-create.ts'
import {
  type ThreadMessage,
  type ThreadPage,
  type ThreadPostAnswer,
  threadPageSchema,
  threadPostAnswerSchema,
  threadPostSchema,
} from '../schemas/thread.ts'
import { type Workspace, workspaceSchema } from '../schemas/workspace.ts'
import type { CheckpointCommand, CreateBody, FormFillBody, PostBody, QuoteProductsBody } from './bodies.ts'
import { type Attribution, bodyOf, type FileContent, type FileToSend, fileOf, formOf, isFile } from './writing.ts'

export interface PageOptions {
  /** Cursor to read after. Default: the beginning of the feed. */
  readonly since?: string
  readonly limit?: number
}

/** Calls of the sections "Submissions and marketing" and "Application workspace" of the specification. */
export interface Submissions {
  create(body: CreateBody): Promise<CreatedSubmission>
  /**
   * Creates a submission from texts and files. The specification shows only one field, `producer_email`. `fileField` is
   * the field name for `files`; default: `files`. `fields` are further fields of the form.
   */
  intake(
    given: Attribution & {
      readonly text?: string
      readonly files?: readonly (FileToSend | FileContent)[]
      readonly fileField?: string
      readonly fields?: Readonly<Record<string, string | FileToSend | FileContent>>
    },
  ): Promise<CreatedSubmission>
  /** Releases a submission that is held. */
  finalize(id: string, options?: Attribution): Promise<FinalizeAnswer>
  requirements(id: string): Promise<RequirementsView>
  outstanding(id: string): Promise<Outstanding>
  answer(id: string, answers: Answers['answers'], options?: Attribution): Promise<AnswersResult>
  events(id: string, options?: PageOptions): Promise<EventsPage>
  thread(id: string, options?: PageOptions): Promise<ThreadPage>
  /** Iterates over all events after `since`, without duplicates, until the service returns a null cursor. */
  allEvents(id: string, options?: PageOptions): Feed<MarketEvent>
  /** Iterates over all messages after `since`, without duplicates, until the service returns a null cursor. */
  allMessages(id: string, options?: PageOptions): Feed<ThreadMessage>
  /**
   * Replies in the thread. Retries send the same idempotency key, so the reply is recorded once. Default
   * key: a random uuid.
   */
  post(id: string, body: PostBody, options?: { readonly idempotencyKey?: string }): Promise<ThreadPostAnswer>
  upload(
    id: string,
    given: Attribution & { readonly file: FileToSend | FileContent; readonly displayName?: string },
  ): Promise<SubmissionDocument>
  formFill(id: string, body?: FormFillBody, options?: Attribution): Promise<FormFillSession>
  quoteSessions(id: string): Promise<QuoteSessions>
  workspace(id: string): Promise<Workspace>
  /** Sends a command for an application. Idempotent for each `operation_id`. Retried if the application is busy. */
  checkpoint(id: string, applicationId: string, command: CheckpointCommand): Promise<CheckpointReceipt>
  /** Selects quote products. Requires a portal session. */
  quoteProducts(id: string, body: QuoteProductsBody): Promise<Record<string, unknown>>
}

export function submissionCalls(channel: Channel, producerEmail: string | undefined): Submissions {
  return { ...creating(channel, producerEmail), ...reading(channel), ...writing(channel, producerEmail) }
}

type Creating = Pick<Submissions, 'create' | 'intake' | 'finalize'>

function creating(channel: Channel, producerEmail: string | undefined): Creating {
  // Copies the new submission's id to `submission_id`. The specification doesn't show which field of the answer
  // contains the id.
  const created = async (path: string, sent: Pick<Call, 'json' | 'form'>): Promise<CreatedSubmission> => {
    const answer = await channel.ask({ method: 'POST', path, ...sent, retry: 'at-most-once' }, createdSubmissionSchema)
    const submission_id = answer.submission_id ?? answer.id
    return submission_id === undefined ? answer : { ...answer, submission_id }
  }
  return {
    create: (body) => created('/broker/submissions', { json: bodyOf(submissionCreateSchema, body, producerEmail) }),
    async intake({ text, files = [], fileField = 'files', fields = {}, producerEmail: named = producerEmail }) {
      const others = Object.entries(fields)
      const given = [
        ...files.map((file) => [fileField, file] as const),
        ...others.flatMap(([field, value]) => (isFile(value) ? [[field, value] as const] : [])),
      ]
      const read = await Promise.all(given.map(async ([field, file]) => ({ field, ...(await fileOf(file)) })))
      const texts = Object.fromEntries(others.flatMap(([field, value]) => (isFile(value) ? [] : [[field, value]])))
      const form = formOf({ producer_email: named, text, ...texts }, read)
      return await created('/broker/intake', { form })
    },
    // The specification shows no body here, but machine credentials must send `producer_email`.
    finalize: (id, { producerEmail: named = producerEmail } = {}) => {
      const call = { method: 'POST', path: pathOf`/broker/submissions/${id}/finalize`, retry: 'at-most-once' } as const
      const json = named === undefined ? undefined : { producer_email: named }
      return channel.ask({ ...call, json }, finalizeAnswerSchema)
    },
  }
}

type Reading = Pick<
  Submissions,
  'requirements' | 'outstanding' | 'events' | 'thread' | 'allEvents' | 'allMessages' | 'quoteSessions' | 'workspace'
>

function reading(channel: Channel): Reading {
  const get = (path: string, query: Readonly<Record<string, string | number | undefined>> = {}) =>
    ({ method: 'GET', path, query, retry: 'idempotent' }) as const
  const events: Submissions['events'] = (id, { since, limit } = {}) =>
    channel.ask(get(pathOf`/broker/submissions/${id}/events`, { since, limit }), eventsPageSchema)
  const thread: Submissions['thread'] = (id, { since, limit } = {}) =>
    channel.ask(get(pathOf`/broker/submissions/${id}/thread`, { since, limit }), threadPageSchema)
  const sized = (limit: number | undefined, since: string | undefined) => ({
    ...(limit !== undefined && { limit }),
    ...(since !== undefined && { since }),
  })
  return {
    events,
    thread,
    requirements: (id) => channel.ask(get(pathOf`/broker/submissions/${id}/requirements`), requirementsViewSchema),
    outstanding: (id) => channel.ask(get(pathOf`/broker/submissions/${id}/outstanding-requirements`), outstandingSchema),
    quoteSessions: (id) => channel.ask(get(pathOf`/broker/submissions/${id}/api-quotes/sessions`), quoteSessionsSchema),
    workspace: (id) => channel.ask(get(pathOf`/broker/submissions/${id}/application-workspace`), workspaceSchema),
    allEvents: (id, { since, limit } = {}) =>
      readFeed(since ?? null, async (at) => {
        const { events: items, next_cursor } = await events(id, sized(limit, at))
        return { items, next_cursor }
      }),
    allMessages: (id, { since, limit } = {}) =>
      readFeed(since ?? null, async (at) => {
        const { messages: items, next_cursor } = await thread(id, sized(limit, at))
        return { items, next_cursor }
      }),
  }
}

type Writing = Pick<Submissions, 'answer' | 'post' | 'upload' | 'formFill' | 'checkpoint' | 'quoteProducts'>

function writing(channel: Channel, producerEmail: string | undefined): Writing {
  const json = <T>(schema: Reads<unknown>, body: T, { producerEmail: named = producerEmail }: Attribution = {}) =>
    bodyOf(schema, body, named)
  return {
    answer: (id, answers, options) => {
      const path = pathOf`/broker/submissions/${id}/outstanding-requirements/answers`
      return channel.ask(
        { method: 'POST', path, json: json(answersSchema, { answers }, options), retry: 'at-most-once' },
        answersResultSchema,
      )
    },
    post: (id, body, { idempotencyKey = crypto.randomUUID() } = {}) => {
      const headers = { 'idempotency-key': checkedKey(idempotencyKey) }
      const path = pathOf`/broker/submissions/${id}/thread`
      return channel.ask({ method: 'POST', path, json: json(threadPostSchema, body), headers, retry: 'idempotent' }, threadPostAnswerSchema)
    },
    async upload(id, { file, displayName, producerEmail: named = producerEmail }) {
      const form = formOf({ display_name: displayName, producer_email: named }, [{ field: 'file', ...(await fileOf(file)) }])
      return await channel.ask(
        { method: 'POST', path: pathOf`/broker/submissions/${id}/documents`, form, retry: 'at-most-once' },
        submissionDocumentSchema,
      )
    },
    formFill: (id, body = {}, options) => {
      const path = pathOf`/broker/submissions/${id}/form-fill-session`
      return channel.ask({ method: 'POST', path, json: json(formFillSchema, body, options), retry: 'at-most-once' }, formFillSessionSchema)
    },
    checkpoint: (id, applicationId, command) => {
      const path = pathOf`/broker/submissions/${id}/applications/${applicationId}/checkpoint`
      return channel.ask({ method: 'POST', path, json: json(checkpointSchema, command), retry: 'idempotent' }, checkpointReceiptSchema)
    },
    quoteProducts: (id, body) => {
      const path = pathOf`/broker/submissions/${id}/application-workspace/quote-products`
      return channel.ask({ method: 'PUT', path, json: json(quoteProductsSchema, body), retry: 'at-most-once' }, selectionSchema)
    },
  }
}

/** @throws RangeError if the key is longer than 128 characters or isn't a valid header value. */
function checkedKey(key: string): string {
  if (key.length <= 128 && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)) return key
  throw new RangeError('idempotencyKey must be 1 to 128 ASCII characters without leading or trailing blanks.')
}
