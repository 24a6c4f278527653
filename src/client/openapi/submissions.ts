import { z } from 'zod'
import { answersResultSchema, answersSchema } from '../schemas/answers.ts'
import { eventsPageSchema } from '../schemas/events.ts'
import { outstandingSchema, requirementsViewSchema } from '../schemas/requirements.ts'
import { createdSubmissionSchema, finalizeAnswerSchema, intakeFormSchema, submissionCreateSchema } from '../schemas/submission-create.ts'
import { threadPageSchema, threadPostAnswerSchema, threadPostSchema } from '../schemas/thread.ts'
import { type Endpoint, get, json, multipart, post } from './operation.ts'

const feed = (max: number) => [
  { name: 'since', schema: z.string().describe('Opaque cursor: what comes strictly after it. Omitted or empty: from the beginning') },
  { name: 'limit', schema: z.int().meta({ description: `Clamped to 1..${max}, never rejected`, default: 50 }) },
]
const creating: readonly Endpoint[] = [
  post('/broker/intake', 'intake', {
    summary: 'Creates a submission of free text and/or PDFs and starts marketing',
    body: multipart(intakeFormSchema),
    answer: json(createdSubmissionSchema),
    errors: ['no_producer', 'file_exists', 'invalid_input'],
    notShown: 'Form fields beside `producer_email`, and the answer',
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
    notShown: 'Where a machine credential names `producer_email`, for the call has no body',
  }),
]

const reading: readonly Endpoint[] = [
  get('/broker/submissions/{submission_id}/requirements', 'getRequirements', {
    summary: 'What is known and what is missing',
    answer: json(requirementsViewSchema),
    errors: ['not_found'],
  }),
  get('/broker/submissions/{submission_id}/outstanding-requirements', 'getOutstanding', {
    summary: 'What is asked of the broker',
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
]

const writing: readonly Endpoint[] = [
  post('/broker/submissions/{submission_id}/outstanding-requirements/answers', 'postAnswers', {
    summary: 'Answers outstanding items',
    body: json(answersSchema),
    answer: json(answersResultSchema),
    errors: ['not_found', 'no_producer', 'invalid_input'],
  }),
  post('/broker/submissions/{submission_id}/thread', 'postThread', {
    summary: 'Writes in the thread; the service answers asynchronously',
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
]

/** "Submissions and marketing", but for documents and forms. */
export const submissionOperations: readonly Endpoint[] = [...creating, ...reading, ...writing]
