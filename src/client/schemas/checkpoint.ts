import { z } from 'zod'
import { filled, integer, producerEmail, sentUuid, text, texts } from './fields.ts'
import { applicationSectionSchema, factSchema, sentSourceReferenceSchema } from './workspace.ts'

const collectionOperationSchema = z.looseObject({
  field_key: text('The question'),
  operation: z.enum(['insert', 'update', 'remove']).describe('Operation on the record'),
  record_id: text('The record'),
  changes: z.record(z.string(), z.unknown()).describe('New values by field').optional(),
})

export const checkpointSchema = z
  .looseObject({
    operation_id: filled('A retry with the same id replays the original receipt'),
    expected_answer_revision: z.int().describe('The `answer_revision` that this command is based on'),
    expected_schema_fingerprint: text('The `schema_fingerprint` that this command is based on'),
    field_changes: z.record(z.string(), z.unknown()).describe('Answers by question key'),
    explicit_clears: texts('Questions whose answers are cleared'),
    collection_operations: z.array(collectionOperationSchema).describe('Changes of lists of records'),
    selected_products: texts('The selected products').nullable(),
    source_reference: sentSourceReferenceSchema,
    producer_email: producerEmail,
  })
  .partial()
  .required({ operation_id: true, expected_answer_revision: true, expected_schema_fingerprint: true })
  .describe('Saves answers to one application')

export const checkpointReceiptSchema = z
  .looseObject({
    operation_id: text('The operation'),
    application: applicationSectionSchema,
    applied: texts('Keys that were applied'),
    rejected: z.array(z.record(z.string(), z.string())).describe('Rejected keys with reasons'),
    fact_changes: z.array(factSchema).describe("Facts implied for the submission's other applications"),
  })
  .partial()
  .describe('Result of a checkpoint')
export type CheckpointReceipt = z.output<typeof checkpointReceiptSchema>

export const quoteProductsSchema = z
  .looseObject({
    program_ids: z.array(sentUuid('A program')).min(1).max(100).describe('1 to 100 programs'),
    selected_ids: z.array(sentUuid('A program')).max(100).describe('At most 100 selected programs'),
    expected_revision: integer('The selection revision of the workspace'),
  })
  .describe('A selection of products to quote')
