import { entity } from '../entity.ts'
import { account, goneFrom, submissionId } from './common.ts'
import { date, json, raw, text, time } from './fields.ts'

export const bindRequests = entity({
  table: 'bind_requests',
  holds:
    'Requests to bind a quote. The service does not list them, so a request is here once its id is known (`known_ids`). Its assumptions and ' +
    'contingencies have their own tables.',
  read: 'bind_request',
  key: ['account', 'submission_id', 'bind_request_id'],
  fields: {
    account,
    submission_id: submissionId,
    bind_request_id: text('none', 'its id', { as: 'uuid', required: true }),
    status: text(
      'business',
      'so far `drafted`, `submitted`, `sent`, `binder_received`, `bound`, `bind_failed`, `cancelled`, `declined`, `expired`; any may follow any',
      { required: true },
    ),
    status_label: text('business', 'display text'),
    quote_id: text('none', 'the quote to bind, as in `quotes`', { nullable: true, as: 'id' }),
    payment_option: text('business', 'the payment plan', { nullable: true }),
    requested_at: time('none', 'when it was requested'),
    requested_by: text('personal', 'the producing broker', { nullable: true }),
    effective_date: date('business', 'requested start of coverage', { nullable: true }),
    policy_id: text('none', 'the policy; null until the bind is placed', { nullable: true, as: 'uuid' }),
    next_steps: json('free', 'list of texts: steps to take, in order', { shown: true }),
    gone_at: goneFrom('the service'),
    raw: raw('free', 'the request as received', { source: 'the whole request' }),
  },
})
