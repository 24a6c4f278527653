import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'
import { int, json, raw, text } from './fields.ts'

export const applications = entity({
  table: 'applications',
  holds:
    'One row for each application to a carrier. Its question schema is in `raw`, because the spec does not show it. Its answers are in ' +
    '`application_answers`.',
  read: 'workspace',
  key: ['account', 'submission_id', 'application_id'],
  fields: {
    account,
    submission_id: submissionId,
    application_id: keyId('applications[].application_id'),
    workspace_id: text('none', 'its workspace', { as: 'id' }),
    connection_id: text('none', "the service's value", { as: 'id' }),
    provider_key: text('business', 'the carrier'),
    program_identifier: text('business', 'the program'),
    owner_host: text('none', 'so far `service`, `assisted_filler`'),
    owner_session_id: text('none', "the service's value", { as: 'id' }),
    route: text('none', 'so far `service`, `direct`'),
    market_program_id: text('none', "the program's id", { nullable: true, as: 'uuid' }),
    line_of_business: text('business', 'the line of business', { nullable: true }),
    schema_fingerprint: text('none', 'fingerprint of the questions; a command echoes it'),
    answer_revision: int('none', 'a command echoes it'),
    fact_revision: int('none', 'a command echoes it'),
    selection_revision: int('none', 'a command echoes it'),
    selected_products: json('business', 'list of names'),
    available_products: json('business', 'list of names'),
    mapping_state: text('none', 'whether facts are being mapped to answers; JSON text if the service sends more', { mayHoldJson: true }),
    unresolved_dependencies: json('none', 'list of names'),
    missing: json('none', 'list of the required questions without an answer'),
    errors: json('free', 'list of objects'),
    visible_fields: json('none', 'list of the questions that are shown'),
    readiness: text('none', 'so far `needs_information`, `ready_for_quote`'),
    request_state: text('none', 'an open vocabulary; `draft` until a quote is requested'),
    request_id: text('none', 'id of the last request', { nullable: true, as: 'id' }),
    result: json('free', "the carrier's outcome of the last request", { as: 'any' }),
    allowed_actions: json('none', 'list of names'),
    gone_at: goneFrom('the workspace'),
    raw: raw('free', 'the application as received, with its schema and answers', { source: 'the whole application' }),
  },
})
