import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'

export const applicationAnswers = entity({
  table: 'application_answers',
  holds: 'Which answers a carrier has, one row for each question with an answer or an owner.',
  read: 'workspace',
  parent: 'applications',
  absentIsNull: true,
  key: ['account', 'submission_id', 'application_id', 'question_key'],
  fields: {
    account,
    submission_id: submissionId,
    application_id: { kind: 'text', class: 'none', source: "the application's `application_id`", meaning: 'its application' },
    question_key: { ...keyId('question_key'), source: 'the key in `answers` or `ownership`' },
    value: { kind: 'json', class: 'personal', as: 'any', path: 'answers', meaning: 'the answer, any JSON value' },
    ownership_kind: { kind: 'text', class: 'none', path: 'ownership.kind', meaning: 'so far `explicit`, `derived`, `cleared`' },
    ownership_revision: { kind: 'int', class: 'none', path: 'ownership.revision', meaning: 'as the service gives it' },
    source_id: { kind: 'text', class: 'none', path: 'ownership.source.source_id', meaning: 'where it comes from' },
    source_channel: {
      kind: 'text',
      class: 'none',
      path: 'ownership.source.channel',
      meaning: 'such as `broker_portal`, `document`, `mapping`',
    },
    source_evidence: {
      kind: 'text',
      class: 'none',
      path: 'ownership.source.evidence',
      meaning: 'so far `explicit`, `translated`, `assumed`',
    },
    gone_at: goneFrom('the application'),
  },
})
