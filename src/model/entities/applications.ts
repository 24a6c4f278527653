import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'

export const applications = entity({
  table: 'applications',
  holds: 'One row for each application to a carrier. Its question schema stands in `raw`, its answers in `application_answers`.',
  read: 'workspace',
  key: ['account', 'submission_id', 'application_id'],
  fields: {
    account,
    submission_id: submissionId,
    application_id: keyId('`applications[].application_id`'),
    workspace_id: { kind: 'text', class: 'none', source: '`workspace_id`', meaning: 'its workspace' },
    connection_id: { kind: 'text', class: 'none', source: '`connection_id`', meaning: 'as the service gives it' },
    provider_key: { kind: 'text', class: 'business', source: '`provider_key`', meaning: 'whose application it is' },
    program_identifier: { kind: 'text', class: 'business', source: '`program_identifier`', meaning: 'the program' },
    owner_host: { kind: 'text', class: 'none', source: '`owner_host`', meaning: 'so far `service`, `assisted_filler`' },
    owner_session_id: { kind: 'text', class: 'none', source: '`owner_session_id`', meaning: 'as the service gives it' },
    route: { kind: 'text', class: 'none', source: '`route`', meaning: 'so far `service`, `direct`' },
    market_program_id: { kind: 'text', class: 'none', source: '`market_program_id`', meaning: "the program's id" },
    line_of_business: { kind: 'text', class: 'business', source: '`line_of_business`', meaning: 'the line of business' },
    schema_fingerprint: { kind: 'text', class: 'none', source: '`schema_fingerprint`', meaning: 'of the questions; a command echoes it' },
    answer_revision: { kind: 'int', class: 'none', source: '`answer_revision`', meaning: 'a command echoes it' },
    fact_revision: { kind: 'int', class: 'none', source: '`fact_revision`', meaning: 'a command echoes it' },
    selection_revision: { kind: 'int', class: 'none', source: '`selection_revision`', meaning: 'a command echoes it' },
    selected_products: { kind: 'json', class: 'business', source: '`selected_products`', meaning: 'list of names' },
    available_products: { kind: 'json', class: 'business', source: '`available_products`', meaning: 'list of names' },
    mapping_state: {
      kind: 'text',
      class: 'none',
      source: '`mapping_state`',
      meaning: 'whether facts are being mapped to answers; JSON text when the service sends more than a word',
      mayHoldJson: true,
    },
    unresolved_dependencies: { kind: 'json', class: 'none', source: '`unresolved_dependencies`', meaning: 'list of names' },
    missing: { kind: 'json', class: 'none', source: '`missing`', meaning: 'list of the required questions without an answer' },
    errors: { kind: 'json', class: 'free', source: '`errors`', meaning: 'list of objects' },
    visible_fields: { kind: 'json', class: 'none', source: '`visible_fields`', meaning: 'list of the questions that are shown' },
    readiness: { kind: 'text', class: 'none', source: '`readiness`', meaning: 'so far `needs_information`, `ready_for_quote`' },
    request_state: {
      kind: 'text',
      class: 'none',
      source: '`request_state`',
      meaning: 'an open vocabulary; `draft` until a quote is requested',
    },
    request_id: { kind: 'text', class: 'none', source: '`request_id`', meaning: 'of the last request' },
    result: { kind: 'json', class: 'free', source: '`result`', meaning: "the carrier's outcome of the last request" },
    allowed_actions: { kind: 'json', class: 'none', source: '`allowed_actions`', meaning: 'list of names' },
    gone_at: goneFrom('the workspace'),
    raw: {
      kind: 'raw',
      class: 'free',
      source: 'the whole application',
      meaning: 'the application as it came, with its schema and answers',
    },
  },
})

export type ApplicationRow = RowOf<typeof applications>
