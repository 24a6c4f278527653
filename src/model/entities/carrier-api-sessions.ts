import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'
import { bool, json, raw, real, text } from './fields.ts'

export const carrierApiSessions = entity({
  table: 'carrier_api_sessions',
  holds:
    "One row for each quote session with a carrier's API. All columns come from the requirements view except `missing_required_questions`, which " +
    'comes from the sessions read. A session from that read only has no other columns.',
  read: 'requirements',
  key: ['account', 'submission_id', 'session_id'],
  fields: {
    account,
    submission_id: submissionId,
    session_id: keyId('carrier_api_sessions[].session_id'),
    carrier_slug: text('business', 'the carrier'),
    program: text('business', "the program's name"),
    status: text('business', 'an open vocabulary'),
    outcome: text('business', 'how it ended; null while it runs', { nullable: true }),
    completion_pct: real('none', "the service's share of answered questions; whether 1 or 100 means complete is unknown"),
    missing_questions: json('free', 'list of objects: questions without an answer', { shown: true }),
    has_quote: bool('none', 'the carrier has quoted'),
    missing_required_questions: json('free', 'its JSON; text that is not JSON as text', {
      shown: true,
      source: '`missing_required_questions_json` of the sessions read',
      path: 'missing_required_questions_json',
      as: 'text',
      read: 'sessions',
    }),
    gone_at: goneFrom('the view'),
    raw: raw('free', 'the session in the requirements view; null if only the sessions read shows it', { source: 'the whole session' }),
    sessions_raw: raw('free', 'the session in the sessions read; null if it is not there', {
      source: 'the whole session of the sessions read',
      read: 'sessions',
    }),
  },
})
