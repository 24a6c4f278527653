import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, submissionId } from './common.ts'

export const bindRequests = entity({
  table: 'bind_requests',
  holds:
    'Requests to bind a quote. The service has no list of them: a request is here once its id is known (`known_ids`). ' +
    'Its assumptions and contingencies stand in tables of their own.',
  read: 'bind_request',
  key: ['account', 'submission_id', 'bind_request_id'],
  fields: {
    account,
    submission_id: submissionId,
    bind_request_id: { kind: 'text', class: 'none', source: '`bind_request_id`', meaning: 'its id' },
    status: {
      kind: 'text',
      class: 'business',
      source: '`status`',
      meaning:
        'so far `drafted`, `submitted`, `sent`, `binder_received`, `bound`, `bind_failed`, `cancelled`, `declined`, `expired`; any may follow any',
    },
    status_label: { kind: 'text', class: 'business', source: '`status_label`', meaning: 'the same in words to show' },
    quote_id: { kind: 'text', class: 'none', source: '`quote_id`', meaning: 'the quote to bind, as in `quotes`' },
    payment_option: { kind: 'text', class: 'business', source: '`payment_option`', meaning: 'the payment plan' },
    requested_at: { kind: 'time', class: 'none', source: '`requested_at`', meaning: 'when it was requested' },
    requested_by: { kind: 'text', class: 'personal', source: '`requested_by`', meaning: 'the producing broker' },
    effective_date: { kind: 'date', class: 'business', source: '`effective_date`', meaning: 'date from which cover is wanted' },
    policy_id: { kind: 'text', class: 'none', source: '`policy_id`', meaning: 'the policy; null until the bind is placed' },
    next_steps: { kind: 'json', class: 'free', shown: true, source: '`next_steps`', meaning: 'list of texts: what to do, in order' },
    gone_at: goneFrom('the service'),
    raw: { kind: 'raw', class: 'free', source: 'the whole request', meaning: 'the request as it came' },
  },
})

export type BindRequestRow = RowOf<typeof bindRequests>
