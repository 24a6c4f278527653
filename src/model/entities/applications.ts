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
    application_id: keyId('applications[].application_id'),
    workspace_id: { kind: 'text', class: 'none', as: 'id', meaning: 'its workspace' },
    connection_id: { kind: 'text', class: 'none', as: 'id', meaning: 'as the service gives it' },
    provider_key: { kind: 'text', class: 'business', meaning: 'whose application it is' },
    program_identifier: { kind: 'text', class: 'business', meaning: 'the program' },
    owner_host: { kind: 'text', class: 'none', meaning: 'so far `service`, `assisted_filler`' },
    owner_session_id: { kind: 'text', class: 'none', as: 'id', meaning: 'as the service gives it' },
    route: { kind: 'text', class: 'none', meaning: 'so far `service`, `direct`' },
    market_program_id: { kind: 'text', class: 'none', as: 'uuid', meaning: "the program's id" },
    line_of_business: { kind: 'text', class: 'business', meaning: 'the line of business' },
    schema_fingerprint: { kind: 'text', class: 'none', meaning: 'of the questions; a command echoes it' },
    answer_revision: { kind: 'int', class: 'none', meaning: 'a command echoes it' },
    fact_revision: { kind: 'int', class: 'none', meaning: 'a command echoes it' },
    selection_revision: { kind: 'int', class: 'none', meaning: 'a command echoes it' },
    selected_products: { kind: 'json', class: 'business', meaning: 'list of names' },
    available_products: { kind: 'json', class: 'business', meaning: 'list of names' },
    mapping_state: {
      kind: 'text',
      class: 'none',
      meaning: 'whether facts are being mapped to answers; JSON text when the service sends more than a word',
      mayHoldJson: true,
    },
    unresolved_dependencies: { kind: 'json', class: 'none', meaning: 'list of names' },
    missing: { kind: 'json', class: 'none', meaning: 'list of the required questions without an answer' },
    errors: { kind: 'json', class: 'free', meaning: 'list of objects' },
    visible_fields: { kind: 'json', class: 'none', meaning: 'list of the questions that are shown' },
    readiness: { kind: 'text', class: 'none', meaning: 'so far `needs_information`, `ready_for_quote`' },
    request_state: { kind: 'text', class: 'none', meaning: 'an open vocabulary; `draft` until a quote is requested' },
    request_id: { kind: 'text', class: 'none', as: 'id', meaning: 'of the last request' },
    result: { kind: 'json', class: 'free', as: 'any', meaning: "the carrier's outcome of the last request" },
    allowed_actions: { kind: 'json', class: 'none', meaning: 'list of names' },
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
