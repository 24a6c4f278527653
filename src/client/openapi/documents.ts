import { z } from 'zod'
import {
  documentUploadFormSchema,
  formFillSchema,
  formFillSessionSchema,
  formsSchema,
  quoteSessionListSchema,
  submissionDocumentSchema,
} from '../schemas/documents.ts'
import { type Endpoint, get, json, multipart, post } from './operation.ts'

/** "Submissions and marketing": documents, forms and carrier sessions. */
export const documentOperations: readonly Endpoint[] = [
  post('/broker/submissions/{submission_id}/documents', 'uploadDocument', {
    summary: 'Attaches a document to a submission',
    body: multipart(documentUploadFormSchema),
    answer: json(submissionDocumentSchema),
    errors: ['not_found', 'validation_failure', 'no_producer', 'empty_file', 'file_too_large'],
  }),
  get('/broker/finalized-documents/{document_id}/pdf', 'getPdf', {
    summary: 'Streams a finalized document',
    answer: { type: 'application/pdf', schema: z.string().meta({ description: 'The PDF', format: 'binary' }) },
    errors: ['not_found', 'pdf_unavailable'],
  }),
  post('/broker/submissions/{submission_id}/form-fill-session', 'openFormFillSession', {
    summary: 'Opens a form-fill session',
    body: { ...json(formFillSchema), isOptional: true },
    answer: json(formFillSessionSchema),
    errors: ['not_found', 'no_producer', 'invalid_input'],
  }),
  get('/broker/forms', 'searchForms', {
    summary: 'Searches the forms catalog',
    query: [{ name: 'q', schema: z.string().describe('Matches key or title, case-insensitive') }],
    answer: json(formsSchema),
    errors: [],
  }),
  get('/broker/submissions/{submission_id}/api-quotes/sessions', 'getQuoteSessions', {
    summary: 'Lists carrier-API quote sessions',
    answer: json(quoteSessionListSchema),
    errors: ['not_found'],
    notShown: 'All but `missing_required_questions_json`',
  }),
]
