import { z } from 'zod'
import { nextCursor } from './events.ts'
import { filled, known, moment, producerEmail, sentUuid, text, texts, uuid } from './fields.ts'

export const attachmentSchema = z
  .looseObject({
    name: text('Name of the file'),
    download_path: text('Path of the file relative to the base URL; null if it is not a finalized document').nullable().optional(),
  })
  .describe('A file of a message')

export const threadMessageSchema = z
  .looseObject({
    id: uuid('Stable'),
    channel: known(['email', 'chat'], 'Channel of the message'),
    direction: known(['inbound', 'outbound'], 'Inbound: the brokerage wrote it; outbound: the service wrote it'),
    kind: text('The e-mail type (for example initial_clearance, market_plan_update, quote_delivery, broker_reply) or chat'),
    occurred_at: moment('Time of the message'),
    subject: text('Subject').nullable(),
    body_text: text('Always plain text'),
    from: text('E-mail address; null on chat rows').nullable(),
    to: texts('E-mail addresses; empty on chat rows'),
    attachments: z.array(attachmentSchema).describe('Files'),
    in_reply_to: text('RFC 5322 Message-ID, when known').nullable(),
  })
  .partial()
  .required({ id: true, channel: true, direction: true, kind: true, occurred_at: true, body_text: true })
  .describe('A message of the thread')
export type ThreadMessage = z.output<typeof threadMessageSchema>

export const threadPageSchema = z
  .looseObject({ messages: z.array(threadMessageSchema).describe('Oldest first'), next_cursor: nextCursor })
  .describe('A page of the thread; it may be short or empty before the end')
export type ThreadPage = z.output<typeof threadPageSchema>

export const threadPostSchema = z
  .looseObject({
    body: filled('The reply, plain text; blank is refused'),
    document_ids: z.array(sentUuid('A document')).describe('Documents uploaded to this submission before').optional(),
    producer_email: producerEmail.optional(),
  })
  .describe('A reply in the thread')

/** `status` is `received`. The specification doesn't show which field contains the message id. */
export const threadPostAnswerSchema = z
  .looseObject({ status: known(['received'], 'The reply was recorded; the answer comes in the thread') })
  .partial()
  .meta({ description: 'A reply was recorded', 'x-not-shown': 'The name of the field with the id of the recorded message' })
export type ThreadPostAnswer = z.output<typeof threadPostAnswerSchema>

/** Body of a `submission.message` delivery. */
export const messageDeliverySchema = z
  .looseObject({
    type: known(['submission.message'], 'Kind of the delivery'),
    submission_id: uuid('The submission'),
    message: threadMessageSchema,
  })
  .describe('A message, pushed to a webhook endpoint')

/** Body of a `submission.events` delivery. The specification shows only `type`. */
export const eventsDeliverySchema = z
  .looseObject({ type: known(['submission.events'], 'Kind of the delivery') })
  .partial()
  .meta({ description: 'New events, pushed to a webhook endpoint', 'x-not-shown': 'The payload' })
