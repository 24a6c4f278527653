import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, submissionId } from './common.ts'

export const applicationWorkspaces = entity({
  table: 'application_workspaces',
  holds: 'The application workspace of a submission. Its applications and facts stand in tables of their own.',
  read: 'workspace',
  key: ['account', 'submission_id'],
  fields: {
    account,
    submission_id: submissionId,
    workspace_id: { kind: 'text', class: 'none', source: '`workspace_id`', meaning: 'its id' },
    contract_version: { kind: 'text', class: 'none', source: '`contract_version`', meaning: 'so far `structured_v1`' },
    workflow_version: {
      kind: 'text',
      class: 'none',
      source: '`workflow_version`',
      meaning: 'so far `structured_v1`, or `legacy`, which has no applications',
    },
    fact_set_id: { kind: 'text', class: 'none', source: '`facts.fact_set_id`', meaning: 'its set of facts' },
    facts_revision: { kind: 'int', class: 'none', source: '`facts.revision`', meaning: 'how often the facts were changed' },
    residual_status: {
      kind: 'text',
      class: 'none',
      source: '`residual_pdf.status`',
      meaning: 'of the forms prepared outside applications',
    },
    residual_form_keys: { kind: 'json', class: 'none', source: '`residual_pdf.form_keys`', meaning: 'list of these forms' },
    gone_at: goneFrom('the service'),
    raw: { kind: 'raw', class: 'free', source: 'the whole workspace', meaning: 'the workspace as it came, with applications and facts' },
  },
})

export type ApplicationWorkspaceRow = RowOf<typeof applicationWorkspaces>
