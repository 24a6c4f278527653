import { z } from 'zod'
import { answersResultSchema, answersSchema } from '../schemas/answers.ts'
import { fileExistsSchema } from '../schemas/errors.ts'
import { eventsPageSchema } from '../schemas/events.ts'
import { outstandingSchema, requirementsViewSchema } from '../schemas/requirements.ts'
import { createdSubmissionSchema, finalizeAnswerSchema, intakeFormSchema, submissionCreateSchema } from '../schemas/submission-create.ts'
import { threadPageSchema, threadPostAnswerSchema, threadPostSchema } from '../schemas/thread.ts'
import { chosen, json, multipart, noProducer, notFound, type Operation, outOfScope, shown, unauthenticated } from './operation.ts'

const feed = (max: number) => [
  { name: 'since', schema: z.string().describe('Opaque cursor: what comes strictly after it. Omitted or empty: from the beginning') },
  { name: 'limit', schema: z.int().meta({ description: `Clamped to 1..${max}, never rejected`, default: 50 }) },
]
const badCursor = chosen(400, 'Invalid cursor')
const tag = 'submissions'

const creating: readonly Operation[] = [
  {
    ...{ method: 'POST', path: '/broker/intake', operationId: 'intake', tag, scope: 'broker_submit' },
    summary: 'Creates a submission of free text and/or PDFs and starts marketing',
    body: multipart(intakeFormSchema),
    answer: json(createdSubmissionSchema),
    errors: [unauthenticated, outOfScope, noProducer, shown(409, 'A live submission for the same insured exists', fileExistsSchema)],
    notShown: 'Form fields beside `producer_email`, and the answer',
  },
  {
    ...{ method: 'POST', path: '/broker/submissions', operationId: 'createSubmission', tag, scope: 'broker_submit' },
    summary: 'Creates a submission and starts marketing unless `hold`',
    body: json(submissionCreateSchema),
    answer: json(createdSubmissionSchema),
    errors: [
      unauthenticated,
      outOfScope,
      shown(403, '`mode` rater by a token that is not a partner’s'),
      shown(404, 'Unknown or foreign `insured_id`'),
      shown(409, 'A live submission for the same insured exists', fileExistsSchema),
      shown(422, '`primary_state` conflicts with the state of the mailing address; the message says what to fix'),
      noProducer,
    ],
    notShown: 'The answer, beyond that it identifies the created submission',
  },
  {
    ...{ method: 'POST', path: '/broker/submissions/{submission_id}/finalize', operationId: 'finalizeSubmission', tag },
    scope: 'broker_submit',
    summary: 'Releases a held submission',
    answer: json(finalizeAnswerSchema),
    errors: [unauthenticated, outOfScope, notFound, noProducer],
    notShown: 'Where a machine credential names `producer_email`, for the call has no body',
  },
]

const reading: readonly Operation[] = [
  {
    ...{
      method: 'GET',
      path: '/broker/submissions/{submission_id}/requirements',
      operationId: 'getRequirements',
      tag,
      scope: 'broker_mcp',
    },
    summary: 'What is known and what is missing',
    answer: json(requirementsViewSchema),
    errors: [unauthenticated, outOfScope, notFound],
  },
  {
    ...{ method: 'GET', path: '/broker/submissions/{submission_id}/outstanding-requirements', operationId: 'getOutstanding', tag },
    scope: 'broker_mcp',
    summary: 'What is asked of the broker',
    answer: json(outstandingSchema),
    errors: [unauthenticated, outOfScope, notFound],
  },
  {
    ...{ method: 'GET', path: '/broker/submissions/{submission_id}/events', operationId: 'getEvents', tag, scope: 'broker_mcp' },
    summary: 'Events of the markets, oldest first',
    query: feed(100),
    answer: json(eventsPageSchema),
    errors: [unauthenticated, outOfScope, notFound, badCursor],
  },
  {
    ...{ method: 'GET', path: '/broker/submissions/{submission_id}/thread', operationId: 'getThread', tag, scope: 'broker_mcp' },
    summary: 'Messages of the thread, oldest first',
    query: feed(200),
    answer: json(threadPageSchema),
    errors: [unauthenticated, outOfScope, notFound, badCursor],
  },
]

const writing: readonly Operation[] = [
  {
    ...{ method: 'POST', path: '/broker/submissions/{submission_id}/outstanding-requirements/answers', operationId: 'postAnswers', tag },
    scope: 'broker_submit',
    summary: 'Answers outstanding items',
    body: json(answersSchema),
    answer: json(answersResultSchema),
    errors: [unauthenticated, outOfScope, notFound, noProducer],
  },
  {
    ...{ method: 'POST', path: '/broker/submissions/{submission_id}/thread', operationId: 'postThread', tag, scope: 'broker_submit' },
    summary: 'Writes in the thread; the service answers asynchronously',
    headers: [
      {
        name: 'Idempotency-Key',
        schema: z.string().max(128).describe('A retry with the same key attaches to the original turn'),
      },
    ],
    body: json(threadPostSchema),
    answer: json(threadPostAnswerSchema),
    errors: [
      unauthenticated,
      outOfScope,
      notFound,
      shown(400, 'A `document_ids` entry is not on this submission'),
      noProducer,
      chosen(422, 'Blank `body`'),
    ],
    notShown: 'The name of the field with the id of the message',
  },
]

/** "Submissions and marketing", but for documents and forms. */
export const submissionOperations: readonly Operation[] = [...creating, ...reading, ...writing]
