import { z } from 'zod'
import { ownValue, setOwnValue } from '../world/plain.ts'
import type { Submission } from '../world/submission.ts'
import type { World } from '../world/world.ts'
import type { User } from './accounts.ts'
import { applyReply } from './answering.ts'
import { type Life, writerOf } from './life.ts'
import { invalid, parseBody } from './parse.ts'
import { Refusal } from './refusal.ts'

export const threadBody = z.object({
  body: z.string(),
  document_ids: z.array(z.uuid()).default([]),
  producer_email: z.string().optional(),
})

const MAX_KEY_LENGTH = 128
/** "Typically within a couple of minutes." */
const ANSWER_AFTER_MS = 120_000

export interface ThreadPost {
  readonly account: string
  readonly submission: Submission
  readonly input: unknown
  readonly idempotencyKey: string | undefined
  readonly atMs: number
  /** Whom the message is attributed to. */
  readonly user: User
}

/**
 * Records a reply of the brokerage, and lets the service answer it a little later. A known `Idempotency-Key` attaches to its first turn.
 * @returns the id of the recorded message.
 * @throws Refusal for a blank body, a key that is too long, or, with 400, a document of another submission.
 */
export function postToThread({ world, life }: { world: World; life: Life }, post: ThreadPost): string {
  const { account, submission, idempotencyKey: key, atMs, user } = post
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
  const message = {
    ...({ id, channel: 'email', direction: 'inbound', kind: 'broker_reply', body_text: body } as const),
    subject: `Re: ${submission.facts.insured_name}`,
    from: user.email,
    to: ['submissions@desk.invalid'],
    attachments: attached.flatMap((document) =>
      document ? [{ name: document.displayName, download_path: `/broker/finalized-documents/${document.id}/pdf` }] : [],
    ),
    in_reply_to: writerOf(submission).rootMessageId,
  }
  world.play(account, submission.id, [{ do: 'message', message }], atMs)
  applyReply({ world, life }, account, submission, { text: body, documentIds: document_ids }, atMs)
  const answer = {
    ...({ id: submission.newId(), channel: 'email', direction: 'outbound', kind: 'broker_update' } as const),
    subject: `Re: ${submission.facts.insured_name}`,
    body_text: `Hi ${user.fullName},\n\nthank you, we have noted this on the file and told the markets that it concerns.\n\nYour submissions desk`,
    from: 'submissions@desk.invalid',
    to: [user.email],
    in_reply_to: writerOf(submission).rootMessageId,
  }
  life.later(account, submission.id, atMs + ANSWER_AFTER_MS, [{ do: 'message', message: answer }])
  return id
}
