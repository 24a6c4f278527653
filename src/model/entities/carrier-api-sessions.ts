import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'

export const carrierApiSessions = entity({
  table: 'carrier_api_sessions',
  holds:
    "One row for each quote session with a carrier's API. The requirements view says which there are, and all of their columns but " +
    '`missing_required_questions`, which comes from the sessions read. A session that only that read shows has no other columns.',
  read: 'requirements',
  key: ['account', 'submission_id', 'session_id'],
  fields: {
    account,
    submission_id: submissionId,
    session_id: keyId('carrier_api_sessions[].session_id'),
    carrier_slug: { kind: 'text', class: 'business', meaning: 'the carrier' },
    program: { kind: 'text', class: 'business', meaning: "the program's name" },
    status: { kind: 'text', class: 'business', meaning: 'an open vocabulary' },
    outcome: { kind: 'text', nullable: true, class: 'business', meaning: 'how it ended; null while it runs' },
    completion_pct: {
      kind: 'real',
      class: 'none',
      meaning: 'how much is answered: the number that the service shows, of which it does not say whether it is of 1 or of 100',
    },
    missing_questions: {
      kind: 'json',
      class: 'free',
      shown: true,
      meaning: 'list of objects: questions without an answer, as the service shows them',
    },
    has_quote: { kind: 'bool', class: 'none', meaning: 'the carrier has quoted' },
    missing_required_questions: {
      kind: 'json',
      class: 'free',
      shown: true,
      source: '`missing_required_questions_json` of the sessions read',
      path: 'missing_required_questions_json',
      as: 'text',
      meaning: 'the JSON in it; text that is not JSON as text',
      read: 'sessions',
    },
    gone_at: goneFrom('the view'),
    raw: {
      kind: 'raw',
      class: 'free',
      source: 'the whole session',
      meaning: 'the session as the requirements view shows it; null while only the sessions read does',
    },
    sessions_raw: {
      kind: 'raw',
      class: 'free',
      source: 'the whole session of the sessions read',
      meaning: 'the session as the sessions read shows it; null while that does not',
      read: 'sessions',
    },
  },
})
