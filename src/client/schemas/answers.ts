import { z } from 'zod'
import { integer, producerEmail, text, texts } from './fields.ts'

export const answersSchema = z
  .looseObject({
    answers: z
      .array(z.looseObject({ key: text('Key of the outstanding item'), value: z.unknown().describe("Typed per the item's input") }))
      .describe('The answers'),
    producer_email: producerEmail.optional(),
  })
  .describe('Answers to outstanding items')
export type Answers = z.output<typeof answersSchema>

export const answersResultSchema = z
  .looseObject({
    applied: texts('Keys that were applied'),
    skipped: z
      .array(z.looseObject({ key: text('The key'), reason: text('Reason') }).partial())
      .describe('Keys that are not in the current view, and are never written'),
    routed: integer('Number of carrier sessions that received the answers'),
  })
  .partial()
  .describe('Result of the answers')
export type AnswersResult = z.output<typeof answersResultSchema>
