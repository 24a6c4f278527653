import { selectionSchema } from '../schemas/appetite.ts'
import { bindRequestCreateSchema, bindRequestSchema, contingencyUploadFormSchema } from '../schemas/binding.ts'
import { checkpointReceiptSchema, checkpointSchema, quoteProductsSchema } from '../schemas/checkpoint.ts'
import { workspaceSchema } from '../schemas/workspace.ts'
import { json, multipart, type Operation } from './operation.ts'

/** "Application workspace." */
export const workspaceOperations: readonly Operation[] = [
  {
    ...{ method: 'GET', path: '/broker/submissions/{submission_id}/application-workspace', operationId: 'getWorkspace' },
    ...{ tag: 'workspace', scope: 'broker_mcp' },
    summary: 'The carrier applications of a submission',
    answer: json(workspaceSchema),
    errors: ['not_found'],
  },
  {
    ...{ method: 'POST', path: '/broker/submissions/{submission_id}/applications/{session_id}/checkpoint', operationId: 'saveCheckpoint' },
    ...{ tag: 'workspace', scope: 'broker_submit' },
    summary: 'Saves answers to one application; idempotent per `operation_id`',
    body: json(checkpointSchema),
    answer: json(checkpointReceiptSchema),
    errors: ['not_found', 'no_producer', 'stale_application', 'application_busy', 'command_rejected', 'invalid_input'],
  },
  {
    ...{ method: 'PUT', path: '/broker/submissions/{submission_id}/application-workspace/quote-products', operationId: 'selectProducts' },
    ...{ tag: 'workspace', scope: 'broker_submit', isPortalSessionOnly: true },
    summary: 'Selects the products to quote',
    body: json(quoteProductsSchema),
    answer: json(selectionSchema),
    errors: ['no_portal_session', 'not_found', 'stale_selection', 'invalid_input'],
    notShown: 'The answer',
  },
]

const requests = '/broker/submissions/{submission_id}/bind-requests'

/** "Binding." */
export const bindingOperations: readonly Operation[] = [
  {
    ...{ method: 'POST', path: requests, operationId: 'createBindRequest', tag: 'binding', scope: 'broker_submit' },
    summary: 'Creates a draft of a bind request; idempotent per carrier lane, nothing is sent to a carrier',
    body: json(bindRequestCreateSchema),
    answer: json(bindRequestSchema),
    errors: ['not_found', 'assumptions_unconfirmed', 'not_bindable', 'indication', 'no_producer', 'invalid_input'],
  },
  {
    ...{ method: 'GET', path: `${requests}/{bind_request_id}`, operationId: 'getBindRequest', tag: 'binding', scope: 'broker_mcp' },
    summary: 'A bind request',
    answer: json(bindRequestSchema),
    errors: ['not_found'],
  },
  {
    ...{ method: 'POST', path: `${requests}/{bind_request_id}/contingencies/{contingency_id}/document`, operationId: 'uploadContingency' },
    ...{ tag: 'binding', scope: 'broker_submit' },
    summary: 'Appends a file to a contingency, which is satisfied by it',
    body: multipart(contingencyUploadFormSchema),
    answer: json(bindRequestSchema),
    errors: ['not_found', 'not_drafted', 'file_too_large', 'empty_file', 'no_producer', 'invalid_input'],
  },
]
