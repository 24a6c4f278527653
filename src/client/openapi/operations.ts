import { z } from 'zod'
import { answersResultSchema, answersSchema } from '../schemas/answers.ts'
import {
  appetiteRankingSchema,
  appetiteSchema,
  appetiteSearchSchema,
  insuredSchema,
  marketAccessSchema,
  policySchema,
  programLineSchema,
  selectionSchema,
} from '../schemas/appetite.ts'
import { bindRequestCreateSchema, bindRequestSchema, contingencyUploadFormSchema } from '../schemas/binding.ts'
import { checkpointReceiptSchema, checkpointSchema, quoteProductsSchema } from '../schemas/checkpoint.ts'
import {
  documentUploadFormSchema,
  formFillSchema,
  formFillSessionSchema,
  formsSchema,
  quoteSessionListSchema,
  submissionDocumentSchema,
} from '../schemas/documents.ts'
import { eventsPageSchema } from '../schemas/events.ts'
import { text } from '../schemas/fields.ts'
import { identitySchema } from '../schemas/identity.ts'
import {
  deviceAuthorizationSchema,
  deviceFormSchema,
  metadataSchema,
  registeredSchema,
  registrationSchema,
  tokenFormSchema,
  tokenSchema,
} from '../schemas/oauth.ts'
import { outstandingSchema, requirementsViewSchema } from '../schemas/requirements.ts'
import { createdSubmissionSchema, finalizeAnswerSchema, intakeFormSchema, submissionCreateSchema } from '../schemas/submission-create.ts'
import { threadPageSchema, threadPostAnswerSchema, threadPostSchema } from '../schemas/thread.ts'
import { workspaceSchema } from '../schemas/workspace.ts'
import { type Endpoint, form, get, json, multipart, type Operation, post, put } from './operation.ts'

const parameter = (name: string, description: string) => ({ name, schema: text(description) })

const feed = (max: number) => [
  { name: 'since', schema: z.string().describe('Opaque cursor: what comes strictly after it. Omitted or empty: from the beginning') },
  { name: 'limit', schema: z.int().meta({ description: `Clamped to 1..${max}, never rejected`, default: 50 }) },
]

const requests = '/broker/submissions/{submission_id}/bind-requests'

/** All endpoints in the tables of the specification. */
export const operations: readonly Operation[] = [
  ...tagged('authentication', [
    get('/oauth/.well-known/oauth-authorization-server', 'getMetadata', {
      scope: 'none',
      summary: 'Metadata of the authorization server',
      answer: json(metadataSchema),
      errors: [],
    }),
    get('/oauth/authorize', 'authorize', {
      scope: 'none',
      summary: 'Starts the authorization-code flow with PKCE',
      query: [
        parameter('response_type', 'RFC 6749: `code`'),
        parameter('client_id', 'The client'),
        parameter('redirect_uri', 'Redirect URI for the code'),
        parameter('scope', 'Scopes, separated by spaces'),
        parameter('state', 'Returned with the code'),
        parameter('code_challenge', 'The challenge of PKCE'),
        parameter('code_challenge_method', 'RFC 7636: `S256`'),
      ],
      answer: { type: 'text/html', schema: z.string().describe('A page for the broker, or a redirect to the client') },
      errors: ['grant_refused'],
      notShown: 'Parameters beyond PKCE, and the answer',
    }),
    post('/oauth/token', 'exchangeToken', {
      scope: 'none',
      summary: 'Exchanges a grant for tokens',
      body: form(tokenFormSchema),
      answer: json(tokenSchema),
      errors: ['validation_failure', 'grant_refused', 'client_refused'],
      notShown: 'Other fields of the answer',
    }),
    post('/oauth/device_authorization', 'authorizeDevice', {
      scope: 'none',
      summary: 'Starts the authorization of a device (RFC 8628)',
      body: form(deviceFormSchema),
      answer: json(deviceAuthorizationSchema),
      errors: ['validation_failure', 'grant_refused', 'client_refused'],
    }),
    post('/oauth/register', 'registerClient', {
      scope: 'none',
      summary: 'Registers a public client (RFC 7591)',
      body: json(registrationSchema),
      answer: json(registeredSchema),
      errors: ['invalid_input', 'grant_refused', 'registration_limit'],
      notShown: 'The body of the answer, and the rate limit',
    }),
    get('/broker/me', 'getIdentity', {
      summary: 'Owner of the token',
      answer: json(identitySchema),
      errors: ['inactive_credential'],
    }),
  ]),
  ...tagged('submissions', [
    post('/broker/intake', 'intake', {
      summary: 'Creates a submission of free text and/or PDFs and starts marketing',
      body: multipart(intakeFormSchema),
      answer: json(createdSubmissionSchema),
      errors: ['no_producer', 'file_exists', 'invalid_input'],
      notShown: 'Form fields other than `producer_email`, and the answer',
    }),
    post('/broker/submissions', 'createSubmission', {
      summary: 'Creates a submission and starts marketing unless `hold`',
      body: json(submissionCreateSchema),
      answer: json(createdSubmissionSchema),
      errors: ['no_partner', 'unknown_insured', 'file_exists', 'state_conflict', 'no_producer', 'invalid_input'],
      notShown: 'The answer, beyond that it identifies the created submission',
    }),
    post('/broker/submissions/{submission_id}/finalize', 'finalizeSubmission', {
      summary: 'Releases a held submission',
      answer: json(finalizeAnswerSchema),
      errors: ['not_found', 'no_producer', 'invalid_input'],
      notShown: 'Where a machine credential sends `producer_email`, because the call has no body',
    }),
    get('/broker/submissions/{submission_id}/requirements', 'getRequirements', {
      summary: 'Requirements of a submission',
      answer: json(requirementsViewSchema),
      errors: ['not_found'],
    }),
    get('/broker/submissions/{submission_id}/outstanding-requirements', 'getOutstanding', {
      summary: 'Outstanding items',
      answer: json(outstandingSchema),
      errors: ['not_found'],
    }),
    get('/broker/submissions/{submission_id}/events', 'getEvents', {
      summary: 'Events of the markets, oldest first',
      query: feed(100),
      answer: json(eventsPageSchema),
      errors: ['not_found', 'invalid_cursor', 'bad_limit'],
    }),
    get('/broker/submissions/{submission_id}/thread', 'getThread', {
      summary: 'Messages of the thread, oldest first',
      query: feed(200),
      answer: json(threadPageSchema),
      errors: ['not_found', 'invalid_cursor', 'bad_limit'],
    }),
    post('/broker/submissions/{submission_id}/outstanding-requirements/answers', 'postAnswers', {
      summary: 'Answers outstanding items',
      body: json(answersSchema),
      answer: json(answersResultSchema),
      errors: ['not_found', 'no_producer', 'invalid_input'],
    }),
    post('/broker/submissions/{submission_id}/thread', 'postThread', {
      summary: 'Posts to the thread; the service answers asynchronously',
      headers: [
        {
          name: 'Idempotency-Key',
          schema: z.string().max(128).describe('A retry with the same key attaches to the original turn'),
        },
      ],
      body: json(threadPostSchema),
      answer: json(threadPostAnswerSchema),
      errors: ['not_found', 'foreign_document', 'no_producer', 'blank_body', 'invalid_input'],
      notShown: 'The name of the field with the id of the message',
    }),
  ]),
  ...tagged('documents', [
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
  ]),
  ...tagged('workspace', [
    get('/broker/submissions/{submission_id}/application-workspace', 'getWorkspace', {
      summary: 'The carrier applications of a submission',
      answer: json(workspaceSchema),
      errors: ['not_found'],
    }),
    post('/broker/submissions/{submission_id}/applications/{session_id}/checkpoint', 'saveCheckpoint', {
      summary: 'Saves answers to one application; idempotent per `operation_id`',
      body: json(checkpointSchema),
      answer: json(checkpointReceiptSchema),
      errors: ['not_found', 'no_producer', 'stale_application', 'application_busy', 'command_rejected', 'invalid_input'],
    }),
    put('/broker/submissions/{submission_id}/application-workspace/quote-products', 'selectProducts', {
      isPortalSessionOnly: true,
      summary: 'Selects the products to quote',
      body: json(quoteProductsSchema),
      answer: json(selectionSchema),
      errors: ['no_portal_session', 'not_found', 'stale_selection', 'invalid_input'],
      notShown: 'The answer',
    }),
  ]),
  ...tagged('binding', [
    post(requests, 'createBindRequest', {
      summary: 'Creates a draft of a bind request; idempotent per carrier lane, nothing is sent to a carrier',
      body: json(bindRequestCreateSchema),
      answer: json(bindRequestSchema),
      errors: ['not_found', 'assumptions_unconfirmed', 'not_bindable', 'indication', 'no_producer', 'invalid_input'],
    }),
    get(`${requests}/{bind_request_id}`, 'getBindRequest', {
      summary: 'A bind request',
      answer: json(bindRequestSchema),
      errors: ['not_found'],
    }),
    post(`${requests}/{bind_request_id}/contingencies/{contingency_id}/document`, 'uploadContingency', {
      summary: 'Adds a file to a contingency, which satisfies it',
      body: multipart(contingencyUploadFormSchema),
      answer: json(bindRequestSchema),
      errors: ['not_found', 'not_drafted', 'file_too_large', 'empty_file', 'no_producer', 'invalid_input'],
    }),
  ]),
  ...tagged('markets', [
    get('/broker/appetite', 'getAppetite', {
      summary: 'Which markets have appetite',
      query: [
        { name: 'q', required: true, schema: text('Search text') },
        { name: 'state', schema: text('State') },
        { name: 'lob', schema: text('Line of business') },
      ],
      answer: json(appetiteSchema),
      errors: ['daily_limit', 'invalid_input'],
      notShown: 'The value of the daily limit',
    }),
    post('/broker/appetite/search', 'searchAppetite', {
      scope: 'broker_mcp',
      summary: 'Ranked markets with matched programs and category',
      body: json(appetiteSearchSchema),
      answer: json(appetiteRankingSchema),
      errors: ['daily_limit', 'invalid_input'],
      notShown: 'The answer, and the value of the daily limit',
    }),
    put('/broker/market-access/program-line', 'setProgramLine', {
      role: 'admin',
      summary: 'Turns one line of a program on or off',
      body: json(programLineSchema),
      answer: json(marketAccessSchema),
      errors: ['missing_role', 'not_found', 'line_not_listed', 'invalid_input'],
      notShown: 'The answer',
    }),
  ]),
  ...tagged('records', [
    get('/broker/policies/{policy_id}', 'getPolicy', {
      summary: 'A policy',
      answer: json(policySchema),
      errors: ['not_found'],
      notShown: 'The fields of the policy',
    }),
    get('/broker/insureds/{insured_id}', 'getInsured', {
      summary: 'An insured',
      answer: json(insuredSchema),
      errors: ['not_found'],
      notShown: 'The fields of the insured',
    }),
  ]),
]

function tagged(tag: string, endpoints: readonly Endpoint[]): Operation[] {
  return endpoints.map((endpoint) => ({ ...endpoint, tag }))
}

/** Operations that the specification names without showing their paths, bodies, or answers. */
export const namedOnly = [
  'Submission detail read',
  'Markets read of a submission',
  'Withdraw',
  'Request-quote and employers-classes for an application session',
  'Program application-schema read',
  'Bind submission',
  'Policies list',
  'Insureds list',
  'Market-access read',
  'Webhook endpoint management',
] as const
