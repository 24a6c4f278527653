import { z } from 'zod'
import { threadPostSchema } from '../../client/schemas/thread.ts'
import { reply } from '../world/correspondence.ts'
import { ownValue, setOwnValue } from '../world/plain.ts'
import type { Submission } from '../world/submission.ts'
import type { User } from './accounts.ts'
import { applyReply } from './answering.ts'
import { writerOf } from './life.ts'
import type { BuiltParts } from './parts.ts'
import { invalid, parseBody, Refusal } from './refusal.ts'

const { document_ids } = threadPostSchema.shape
/** Accepts a blank body here, because a blank body gets its own Refusal. */
const threadBody = threadPostSchema.extend({ body: z.string(), document_ids: document_ids.unwrap().default([]) })

const MAX_KEY_LENGTH = 128
/** Time in ms until the service answers a reply. The real service takes a few minutes. */
const ANSWER_AFTER_MS = 120_000

interface ThreadPost {
  readonly submission: Submission
  readonly input: unknown
  readonly idempotencyKey: string | undefined
  readonly atMs: number
  /** User who sends the reply. */
  readonly user: User
}

/**
 * Records a reply of the brokerage, and schedules the service's answer. If a reply with the same `Idempotency-Key` was
 * already recorded, records nothing and returns the id of that reply.
 * @returns the message's id.
 * @throws Refusal if the body is blank, the key is too long, or a document isn't one of this submission's documents.
 */
export function postToThread(parts: BuiltParts, post: ThreadPost): string {
  const { life, world } = parts
  const { submission, idempotencyKey: key, atMs, user } = post
  const { body, document_ids } = parseBody(threadBody, post.input)
  if (key !== undefined && key.length > MAX_KEY_LENGTH)
    throw invalid(['header', 'Idempotency-Key'], `must have at most ${MAX_KEY_LENGTH} characters`, 'string_too_long')
  if (body.trim() === '') throw new Refusal('blank_body', 'body must not be blank')
  const { documents, messagesByKey } = submission.records
  const attached = document_ids.map((id) => documents.find((document) => document.id === id))
  if (attached.some((document) => document === undefined))
    throw new Refusal('foreign_document', 'A document of document_ids is not on this submission')
  const known = key === undefined ? undefined : ownValue(messagesByKey, key)
  if (known !== undefined) return known
  const id = submission.newId()
  if (key !== undefined) setOwnValue(messagesByKey, key, id)
  const files = attached.flatMap((document) =>
    document ? [{ name: document.displayName, download_path: `/broker/finalized-documents/${document.id}/pdf` }] : [],
  )
  const message = { ...reply(writerOf(submission), body, files), id, body_text: body, from: user.email }
  world.play(submission.account, submission.id, [{ do: 'message', message }], atMs)
  applyReply(parts, submission, { text: body, documentIds: document_ids }, atMs)
  const answer = {
    ...({ id: submission.newId(), channel: 'email', direction: 'outbound', kind: 'broker_update' } as const),
    subject: `Re: ${submission.facts.insured_name}`,
    body_text: `Hi ${user.fullName},\n\nthank you, we have noted this on the file and informed the markets.\n\nYour submissions desk`,
    from: 'submissions@desk.invalid',
    to: [user.email],
    in_reply_to: writerOf(submission).rootMessageId,
  }
  life.later(submission, atMs + ANSWER_AFTER_MS, [{ do: 'message', message: answer }])
  return id
}
