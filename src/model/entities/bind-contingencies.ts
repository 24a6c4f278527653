import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'

export const bindContingencies = entity({
  table: 'bind_contingencies',
  holds: 'What the carrier asks for before it binds, one row for each item of a bind request.',
  read: 'bind_request',
  parent: 'bind_requests',
  key: ['account', 'submission_id', 'bind_request_id', 'contingency_id'],
  fields: {
    account,
    submission_id: submissionId,
    bind_request_id: { kind: 'text', class: 'none', source: "the request's `bind_request_id`", meaning: 'its bind request' },
    contingency_id: keyId('contingencies[].id'),
    kind: { kind: 'text', class: 'business', meaning: 'so far `question`, `signed_form`, `loss_runs`, `file_upload`' },
    label: { kind: 'text', class: 'free', shown: true, meaning: "the carrier's wording" },
    status: { kind: 'text', class: 'business', meaning: 'so far `pending`, `satisfied`, `waived`' },
    required: { kind: 'bool', class: 'none', meaning: 'the bind waits for it' },
    upload_path: {
      kind: 'text',
      nullable: true,
      class: 'business',
      meaning: 'where a PDF can be posted while the request is `drafted`; null afterwards',
      link: true,
    },
    esign_status: {
      kind: 'text',
      nullable: true,
      class: 'business',
      meaning: 'state of a signature request, an open vocabulary such as `sent`, `completed`, `queued_for_review`',
    },
    gone_at: goneFrom('the request'),
    raw: { kind: 'raw', class: 'free', source: 'the whole item', meaning: 'the item as it came' },
  },
})
