import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'
import { int, json, raw, text } from './fields.ts'

export const bindAssumptions = entity({
  table: 'bind_assumptions',
  holds: 'Assumptions of a bind request that the retail agent has not confirmed. A confirmed one is gone.',
  read: 'bind_request',
  parent: 'bind_requests',
  absentIsNull: true,
  key: ['account', 'submission_id', 'bind_request_id', 'key'],
  fields: {
    account,
    submission_id: submissionId,
    bind_request_id: text('none', 'its bind request', { source: "the request's `bind_request_id`" }),
    key: keyId('unconfirmed_assumptions[].key'),
    label: text('free', 'the assumption in words', { shown: true }),
    value: json('personal', 'the exact value asserted to the carrier, any JSON; null if null or absent (see `raw`)', { as: 'any' }),
    position: int('none', 'its place in the list, from 0', { source: 'the list' }),
    gone_at: goneFrom('the request'),
    raw: raw('free', 'the entry as received', { source: 'the whole entry' }),
  },
})
