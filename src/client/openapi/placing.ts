import { selectionSchema } from '../schemas/appetite.ts'
import { bindRequestCreateSchema, bindRequestSchema, contingencyUploadFormSchema } from '../schemas/binding.ts'
import { checkpointReceiptSchema, checkpointSchema, quoteProductsSchema } from '../schemas/checkpoint.ts'
import { assumptionsUnconfirmedSchema, checkpointConflictSchema } from '../schemas/errors.ts'
import { workspaceSchema } from '../schemas/workspace.ts'
import { chosen, json, multipart, noProducer, notFound, type Operation, outOfScope, shown, unauthenticated } from './operation.ts'

/** "Application workspace." */
export const workspaceOperations: readonly Operation[] = [
  {
    ...{ method: 'GET', path: '/broker/submissions/{submission_id}/application-workspace', operationId: 'getWorkspace' },
    ...{ tag: 'workspace', scope: 'broker_mcp' },
    summary: 'The carrier applications of a submission',
    answer: json(workspaceSchema),
    errors: [unauthenticated, outOfScope, notFound],
  },
  {
    ...{ method: 'POST', path: '/broker/submissions/{submission_id}/applications/{session_id}/checkpoint', operationId: 'saveCheckpoint' },
    ...{ tag: 'workspace', scope: 'broker_submit' },
    summary: 'Saves answers to one application; idempotent per `operation_id`',
    body: json(checkpointSchema),
    answer: json(checkpointReceiptSchema),
    errors: [
      unauthenticated,
      outOfScope,
      notFound,
      noProducer,
      shown(409, 'Stale `expected_answer_revision` or `expected_schema_fingerprint`', checkpointConflictSchema),
      chosen(409, 'The save is busy: retry the same operation after the `Retry-After` header', checkpointConflictSchema),
      chosen(422, 'The command is rejected, for example an invalid classification', checkpointConflictSchema),
    ],
  },
  {
    ...{ method: 'PUT', path: '/broker/submissions/{submission_id}/application-workspace/quote-products', operationId: 'selectProducts' },
    ...{ tag: 'workspace', scope: 'broker_submit', isPortalSessionOnly: true },
    summary: 'Selects the products to quote',
    body: json(quoteProductsSchema),
    answer: json(selectionSchema),
    errors: [
      unauthenticated,
      shown(403, 'A connected app or a machine token'),
      notFound,
      chosen(409, 'Stale selection revision'),
      chosen(422, 'Validation failure'),
    ],
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
    errors: [
      unauthenticated,
      outOfScope,
      notFound,
      shown(409, 'Unconfirmed assumptions', assumptionsUnconfirmedSchema),
      chosen(409, 'Not bindable: the quote is superseded, or the lane is already binding'),
      shown(422, 'The quote is an indication'),
      noProducer,
    ],
  },
  {
    ...{ method: 'GET', path: `${requests}/{bind_request_id}`, operationId: 'getBindRequest', tag: 'binding', scope: 'broker_mcp' },
    summary: 'A bind request',
    answer: json(bindRequestSchema),
    errors: [unauthenticated, outOfScope, notFound],
  },
  {
    ...{ method: 'POST', path: `${requests}/{bind_request_id}/contingencies/{contingency_id}/document`, operationId: 'uploadContingency' },
    ...{ tag: 'binding', scope: 'broker_submit' },
    summary: 'Appends a file to a contingency, which is satisfied by it',
    body: multipart(contingencyUploadFormSchema),
    answer: json(bindRequestSchema),
    errors: [
      unauthenticated,
      outOfScope,
      notFound,
      shown(409, 'The bind request is no longer `drafted`'),
      chosen(413, 'The file is over 25 MB'),
      chosen(422, 'The file is empty'),
      noProducer,
    ],
  },
]
