import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'
import { int, json, text } from './fields.ts'

export const applicationAnswers = entity({
  table: 'application_answers',
  holds: 'The answers that a carrier has, one row for each question with an answer or an owner.',
  read: 'workspace',
  parent: 'applications',
  absentIsNull: true,
  key: ['account', 'submission_id', 'application_id', 'question_key'],
  fields: {
    account,
    submission_id: submissionId,
    application_id: text('none', 'its application', { source: "the application's `application_id`" }),
    question_key: { ...keyId('question_key'), source: 'the key in `answers` or `ownership`' },
    value: json('personal', 'the answer, any JSON value', { as: 'any', path: 'answers' }),
    ownership_kind: text('none', 'so far `explicit`, `derived`, `cleared`', { path: 'ownership.kind' }),
    ownership_revision: int('none', "the service's value", { path: 'ownership.revision' }),
    source_id: text('none', 'its source', { path: 'ownership.source.source_id' }),
    source_channel: text('none', 'such as `broker_portal`, `document`, `mapping`', { path: 'ownership.source.channel' }),
    source_evidence: text('none', 'so far `explicit`, `translated`, `assumed`', { path: 'ownership.source.evidence' }),
    gone_at: goneFrom('the application'),
  },
})
