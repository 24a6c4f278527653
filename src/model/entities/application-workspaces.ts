import { entity } from '../entity.ts'
import { account, goneFrom, submissionId } from './common.ts'
import { int, json, raw, text } from './fields.ts'

export const applicationWorkspaces = entity({
  table: 'application_workspaces',
  holds: 'The application workspace of a submission. Its applications and facts have their own tables.',
  read: 'workspace',
  key: ['account', 'submission_id'],
  fields: {
    account,
    submission_id: submissionId,
    workspace_id: text('none', 'its id; a legacy workspace may have none'),
    contract_version: text('none', 'so far `structured_v1`'),
    workflow_version: text('none', 'so far `structured_v1`, or `legacy`, which has no applications'),
    fact_set_id: text('none', 'its set of facts', { path: 'facts.fact_set_id', as: 'id' }),
    facts_revision: int('none', 'number of changes of the facts', { path: 'facts.revision' }),
    residual_status: text('none', 'status of the forms prepared outside applications', { path: 'residual_pdf.status' }),
    residual_form_keys: json('none', 'list of these forms', { path: 'residual_pdf.form_keys' }),
    gone_at: goneFrom('the service'),
    raw: raw('free', 'the workspace as received, with applications and facts', { source: 'the whole workspace' }),
  },
})
