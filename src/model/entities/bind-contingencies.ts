import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'
import { bool, raw, text } from './fields.ts'

export const bindContingencies = entity({
  table: 'bind_contingencies',
  holds: 'Items that the carrier requires before it binds, one row for each item of a bind request.',
  read: 'bind_request',
  parent: 'bind_requests',
  key: ['account', 'submission_id', 'bind_request_id', 'contingency_id'],
  fields: {
    account,
    submission_id: submissionId,
    bind_request_id: text('none', 'its bind request', { source: "the request's `bind_request_id`" }),
    contingency_id: keyId('contingencies[].id'),
    kind: text('business', 'so far `question`, `signed_form`, `loss_runs`, `file_upload`'),
    label: text('free', "the carrier's wording", { shown: true }),
    status: text('business', 'so far `pending`, `satisfied`, `waived`'),
    required: bool('none', 'the bind waits for it'),
    upload_path: text('business', 'path for uploading a PDF while the request is `drafted`; null after that', {
      nullable: true,
      link: true,
    }),
    esign_status: text('business', 'state of a signature request, such as `sent`, `completed`, `queued_for_review`', { nullable: true }),
    gone_at: goneFrom('the request'),
    raw: raw('free', 'the item as received', { source: 'the whole item' }),
  },
})
