import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, submissionId } from './common.ts'

export const facts = entity({
  table: 'facts',
  holds: 'What is known of the insured, one row for each fact and each source of it.',
  read: 'workspace',
  absentIsNull: true,
  key: ['account', 'submission_id', 'fact_key'],
  fields: {
    account,
    submission_id: submissionId,
    fact_key: itemKey({
      hashed: ['fact_set_id', 'key', 'scope', 'period'],
      more:
        'Facts of which all four are the same are numbered in the order of `source_id`, then `content_hash`: when one goes, those behind it ' +
        'take the number before',
    }),
    fact_set_id: { kind: 'text', class: 'none', source: '`facts.fact_set_id`', meaning: 'its set of facts' },
    key: { kind: 'text', class: 'none', as: 'id', required: true, meaning: 'what it tells, such as `insured.name`' },
    scope: { kind: 'text', class: 'none', as: 'id', meaning: 'whose fact it is; `insured` when the service does not say' },
    period: { kind: 'text', class: 'none', as: 'id', meaning: 'the time of which it tells; null when there is none' },
    value: { kind: 'json', class: 'personal', as: 'any', meaning: 'any JSON value' },
    confirmed: { kind: 'bool', class: 'none', meaning: 'somebody has confirmed it' },
    source_id: { kind: 'text', class: 'none', path: 'source.source_id', meaning: 'where it comes from' },
    content_hash: { kind: 'text', class: 'none', path: 'source.content_hash', meaning: 'of the source' },
    channel: { kind: 'text', class: 'none', path: 'source.channel', meaning: 'such as `broker_portal`, `document`, `mapping`' },
    evidence: { kind: 'text', class: 'none', path: 'source.evidence', meaning: 'so far `explicit`, `translated`, `assumed`' },
    snippet: { kind: 'text', class: 'free', path: 'source.snippet', meaning: 'the words of the source' },
    extractor_version: { kind: 'text', class: 'none', path: 'source.extractor_version', meaning: 'what read the source' },
    gone_at: goneFrom('the workspace'),
    raw: { kind: 'raw', class: 'personal', source: 'the whole fact', meaning: 'the fact as it came' },
  },
})
