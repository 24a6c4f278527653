import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'

export const bindAssumptions = entity({
  table: 'bind_assumptions',
  holds: 'Assumptions of a bind request that the retail agent has not confirmed. One that is confirmed is gone.',
  read: 'bind_request',
  parent: 'bind_requests',
  absentIsNull: true,
  key: ['account', 'submission_id', 'bind_request_id', 'key'],
  fields: {
    account,
    submission_id: submissionId,
    bind_request_id: { kind: 'text', class: 'none', source: "the request's `bind_request_id`", meaning: 'its bind request' },
    key: keyId('unconfirmed_assumptions[].key'),
    label: { kind: 'text', class: 'free', shown: true, meaning: 'the assumption in words' },
    value: {
      kind: 'json',
      as: 'any',
      class: 'personal',
      meaning: 'the exact value asserted to the carrier, any JSON; null when it is null, and when there is none: `raw` tells which',
    },
    position: { kind: 'int', class: 'none', source: 'the list', meaning: 'its place in the list, from 0' },
    gone_at: goneFrom('the request'),
    raw: { kind: 'raw', class: 'free', source: 'the whole entry', meaning: 'the entry as it came' },
  },
})
