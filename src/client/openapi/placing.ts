import { selectionSchema } from '../schemas/appetite.ts'
import { bindRequestCreateSchema, bindRequestSchema, contingencyUploadFormSchema } from '../schemas/binding.ts'
import { checkpointReceiptSchema, checkpointSchema, quoteProductsSchema } from '../schemas/checkpoint.ts'
import { workspaceSchema } from '../schemas/workspace.ts'
import { type Endpoint, get, json, multipart, post, put } from './operation.ts'

/** "Application workspace." */
export const workspaceOperations: readonly Endpoint[] = [
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
]

const requests = '/broker/submissions/{submission_id}/bind-requests'

/** "Binding." */
export const bindingOperations: readonly Endpoint[] = [
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
    summary: 'Appends a file to a contingency, which is satisfied by it',
    body: multipart(contingencyUploadFormSchema),
    answer: json(bindRequestSchema),
    errors: ['not_found', 'not_drafted', 'file_too_large', 'empty_file', 'no_producer', 'invalid_input'],
  }),
]
