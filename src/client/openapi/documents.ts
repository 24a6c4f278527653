import { z } from 'zod'
import {
  documentUploadFormSchema,
  formFillSchema,
  formFillSessionSchema,
  formsSchema,
  quoteSessionListSchema,
  submissionDocumentSchema,
} from '../schemas/documents.ts'
import { json, multipart, type Operation } from './operation.ts'

const tag = 'documents'

/** "Submissions and marketing": documents, forms and carrier sessions. */
export const documentOperations: readonly Operation[] = [
  {
    ...{
      method: 'POST',
      path: '/broker/submissions/{submission_id}/documents',
      operationId: 'uploadDocument',
      tag,
      scope: 'broker_submit',
    },
    summary: 'Attaches a document to a submission',
    body: multipart(documentUploadFormSchema),
    answer: json(submissionDocumentSchema),
    errors: ['not_found', 'validation_failure', 'no_producer', 'empty_file', 'file_too_large'],
  },
  {
    ...{ method: 'GET', path: '/broker/finalized-documents/{document_id}/pdf', operationId: 'getPdf', tag, scope: 'broker_mcp' },
    summary: 'Streams a finalized document',
    answer: { type: 'application/pdf', schema: z.string().meta({ description: 'The PDF', format: 'binary' }) },
    errors: ['not_found', 'pdf_unavailable'],
  },
  {
    ...{ method: 'POST', path: '/broker/submissions/{submission_id}/form-fill-session', operationId: 'openFormFillSession', tag },
    scope: 'broker_submit',
    summary: 'Opens a form-fill session',
    body: { ...json(formFillSchema), isOptional: true },
    answer: json(formFillSessionSchema),
    errors: ['not_found', 'no_producer', 'invalid_input'],
  },
  {
    ...{ method: 'GET', path: '/broker/forms', operationId: 'searchForms', tag, scope: 'broker_mcp' },
    summary: 'Searches the forms catalog',
    query: [{ name: 'q', schema: z.string().describe('Matches key or title, case-insensitive') }],
    answer: json(formsSchema),
    errors: [],
  },
  {
    ...{ method: 'GET', path: '/broker/submissions/{submission_id}/api-quotes/sessions', operationId: 'getQuoteSessions', tag },
    scope: 'broker_mcp',
    summary: 'Lists carrier-API quote sessions',
    answer: json(quoteSessionListSchema),
    errors: ['not_found'],
    notShown: 'All but `missing_required_questions_json`',
  },
]
