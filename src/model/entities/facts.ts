import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, itemKey, submissionId } from './common.ts'

export const facts = entity({
  table: 'facts',
  holds: 'What is known of the insured, one row for each fact and each source of it.',
  read: 'workspace',
  key: ['account', 'submission_id', 'fact_key'],
  fields: {
    account,
    submission_id: submissionId,
    fact_key: itemKey(
      'the SHA-256 of `fact_set_id`, `key`, `scope` and `period`. Facts of which all four are the same are numbered in the order of ' +
        '`source_id`, then `content_hash`: when one goes, those behind it take the number before',
    ),
    fact_set_id: { kind: 'text', class: 'none', source: '`facts.fact_set_id`', meaning: 'its set of facts' },
    key: { kind: 'text', class: 'none', source: '`key`', meaning: 'what it tells, such as `insured.name`' },
    scope: { kind: 'text', class: 'none', source: '`scope`', meaning: 'whose fact it is; `insured` when the service does not say' },
    period: { kind: 'text', class: 'none', source: '`period`', meaning: 'the time of which it tells; null when there is none' },
    value: { kind: 'json', class: 'personal', source: '`value`', meaning: 'any JSON value' },
    confirmed: { kind: 'bool', class: 'none', source: '`confirmed`', meaning: 'somebody has confirmed it' },
    source_id: { kind: 'text', class: 'none', source: '`source.source_id`', meaning: 'where it comes from' },
    content_hash: { kind: 'text', class: 'none', source: '`source.content_hash`', meaning: 'of the source' },
    channel: { kind: 'text', class: 'none', source: '`source.channel`', meaning: 'such as `broker_portal`, `document`, `mapping`' },
    evidence: { kind: 'text', class: 'none', source: '`source.evidence`', meaning: 'so far `explicit`, `translated`, `assumed`' },
    snippet: { kind: 'text', class: 'free', source: '`source.snippet`', meaning: 'the words of the source' },
    extractor_version: { kind: 'text', class: 'none', source: '`source.extractor_version`', meaning: 'what read the source' },
    gone_at: goneFrom('the workspace'),
    raw: { kind: 'raw', class: 'personal', source: 'the whole fact', meaning: 'the fact as it came' },
  },
})

export type FactRow = RowOf<typeof facts>
