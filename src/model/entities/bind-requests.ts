import { entity } from '../entity.ts'
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
    bind_request_id: { kind: 'text', class: 'none', as: 'uuid', required: true, meaning: 'its id' },
    status: {
      kind: 'text',
      class: 'business',
      required: true,
      meaning:
        'so far `drafted`, `submitted`, `sent`, `binder_received`, `bound`, `bind_failed`, `cancelled`, `declined`, `expired`; any may follow any',
    },
    status_label: { kind: 'text', class: 'business', meaning: 'the same in words to show' },
    quote_id: { kind: 'text', nullable: true, class: 'none', as: 'id', meaning: 'the quote to bind, as in `quotes`' },
    payment_option: { kind: 'text', nullable: true, class: 'business', meaning: 'the payment plan' },
    requested_at: { kind: 'time', class: 'none', meaning: 'when it was requested' },
    requested_by: { kind: 'text', nullable: true, class: 'personal', meaning: 'the producing broker' },
    effective_date: { kind: 'date', nullable: true, class: 'business', meaning: 'date from which cover is wanted' },
    policy_id: { kind: 'text', nullable: true, class: 'none', as: 'uuid', meaning: 'the policy; null until the bind is placed' },
    next_steps: { kind: 'json', class: 'free', shown: true, meaning: 'list of texts: what to do, in order' },
    gone_at: goneFrom('the service'),
    raw: { kind: 'raw', class: 'free', source: 'the whole request', meaning: 'the request as it came' },
  },
})
