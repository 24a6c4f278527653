import { z } from 'zod'
import { integer, moment, producerEmail, text, texts, uuid } from './fields.ts'

/** All fields except `created_at` are required. */
export const submissionDocumentSchema = z
  .looseObject({
    id: uuid('The document'),
    source: text('Source of the document'),
    source_label: text('The source in words'),
    display_name: text('Name of the document'),
    size_bytes: integer('Size, bytes'),
    content_type: text('Media type'),
    created_at: moment('Creation time').nullable().optional(),
    download_path: text('Path of the file relative to the base URL'),
  })
  .describe('A finalized document of a submission')
export type SubmissionDocument = z.output<typeof submissionDocumentSchema>

export const documentUploadFormSchema = z
  .looseObject({
    file: z.string().meta({ description: 'The file', format: 'binary' }),
    display_name: text('Name of the document').optional(),
    producer_email: producerEmail.optional(),
  })
  .describe('A file for a submission')

export const formFillSchema = z
  .looseObject({
    form_keys: texts('Trims the resolved form set; required forms are always kept').optional(),
    producer_email: producerEmail.optional(),
  })
  .describe('Opens a form-fill session')

export const formFillSessionSchema = z
  .looseObject({
    session_id: text('The session'),
    workflow_version: text('Version of the workflow'),
    token: text('Token of the session'),
    auth_mode: text('Authentication of the session'),
    forms_assigned: z.unknown().meta({ description: 'The forms of the session', 'x-not-shown': 'Whether it counts or lists them' }),
    status: text('Status of the session'),
    carrier_schemas: z.unknown().meta({ description: 'Schemas of the carriers', 'x-not-shown': 'The shape' }),
  })
  .partial()
  .describe('A form-fill session; completed forms land on the submission as finalized documents')
export type FormFillSession = z.output<typeof formFillSessionSchema>

export const formSchema = z
  .looseObject({
    form_key: text('Key of the form'),
    title: text('Title of the form'),
    is_acord: z.boolean().describe('Whether it is an ACORD form'),
    page_count: integer('Number of pages'),
  })
  .partial()
  .describe('A form of the catalog')
export const formsSchema = z.array(formSchema).describe('Forms whose key or title matches, at most 50')
export type Form = z.output<typeof formSchema>

export const quoteSessionSchema = z
  .looseObject({ missing_required_questions_json: z.unknown().describe('Required questions still unanswered, as JSON') })
  .partial()
  .meta({ description: 'A carrier-API quote session', 'x-not-shown': 'All other fields' })
export const quoteSessionListSchema = z
  .array(quoteSessionSchema)
  .meta({ description: 'The carrier-API quote sessions of a submission', 'x-not-shown': 'Whether the list is inside an object' })
/**
 * For reading answers. Accepts a list or an object, because the specification doesn't say whether the list
 * is inside an object.
 */
export const quoteSessionsSchema = z.union([quoteSessionListSchema, z.looseObject({})])
export type QuoteSessions = z.output<typeof quoteSessionsSchema>
