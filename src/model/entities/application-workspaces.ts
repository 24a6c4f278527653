import { entity } from '../entity.ts'
import { account, goneFrom, submissionId } from './common.ts'

export const applicationWorkspaces = entity({
  table: 'application_workspaces',
  holds: 'The application workspace of a submission. Its applications and facts stand in tables of their own.',
  read: 'workspace',
  key: ['account', 'submission_id'],
  fields: {
    account,
    submission_id: submissionId,
    workspace_id: { kind: 'text', class: 'none', meaning: 'its id; a legacy workspace may have none' },
    contract_version: { kind: 'text', class: 'none', meaning: 'so far `structured_v1`' },
    workflow_version: { kind: 'text', class: 'none', meaning: 'so far `structured_v1`, or `legacy`, which has no applications' },
    fact_set_id: { kind: 'text', class: 'none', path: 'facts.fact_set_id', as: 'id', meaning: 'its set of facts' },
    facts_revision: { kind: 'int', class: 'none', path: 'facts.revision', meaning: 'how often the facts were changed' },
    residual_status: { kind: 'text', class: 'none', path: 'residual_pdf.status', meaning: 'of the forms prepared outside applications' },
    residual_form_keys: { kind: 'json', class: 'none', path: 'residual_pdf.form_keys', meaning: 'list of these forms' },
    gone_at: goneFrom('the service'),
    raw: { kind: 'raw', class: 'free', source: 'the whole workspace', meaning: 'the workspace as it came, with applications and facts' },
  },
})
