import { z } from 'zod'
import {
  documentUploadFormSchema,
  formFillSchema,
  formFillSessionSchema,
  formsSchema,
  quoteSessionsSchema,
  submissionDocumentSchema,
} from '../schemas/documents.ts'
import { chosen, invalid, json, multipart, noProducer, notFound, type Operation, outOfScope, unauthenticated } from './operation.ts'

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
    errors: [unauthenticated, outOfScope, notFound, invalid, noProducer],
  },
  {
    ...{ method: 'GET', path: '/broker/finalized-documents/{document_id}/pdf', operationId: 'getPdf', tag, scope: 'broker_mcp' },
    summary: 'Streams a finalized document',
    answer: { type: 'application/pdf', schema: z.string().meta({ description: 'The PDF', format: 'binary' }) },
    errors: [unauthenticated, outOfScope, notFound, chosen(502, 'The stored document cannot be retrieved')],
  },
  {
    ...{ method: 'POST', path: '/broker/submissions/{submission_id}/form-fill-session', operationId: 'openFormFillSession', tag },
    scope: 'broker_submit',
    summary: 'Opens a form-fill session',
    body: { ...json(formFillSchema), isOptional: true },
    answer: json(formFillSessionSchema),
    errors: [unauthenticated, outOfScope, notFound, noProducer],
  },
  {
    ...{ method: 'GET', path: '/broker/forms', operationId: 'searchForms', tag, scope: 'broker_mcp' },
    summary: 'Searches the forms catalog',
    query: [{ name: 'q', schema: z.string().describe('Matches key or title, case-insensitive') }],
    answer: json(formsSchema),
    errors: [unauthenticated, outOfScope],
  },
  {
    ...{ method: 'GET', path: '/broker/submissions/{submission_id}/api-quotes/sessions', operationId: 'getQuoteSessions', tag },
    scope: 'broker_mcp',
    summary: 'Lists carrier-API quote sessions',
    answer: json(quoteSessionsSchema),
    errors: [unauthenticated, outOfScope, notFound],
    notShown: 'All but `missing_required_questions_json`',
  },
]
