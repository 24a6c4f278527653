import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, submissionId } from './common.ts'
import { bool, json, raw, text } from './fields.ts'

export const facts = entity({
  table: 'facts',
  holds: 'Facts about the insured, one row for each fact and source.',
  read: 'workspace',
  absentIsNull: true,
  key: ['account', 'submission_id', 'fact_key'],
  fields: {
    account,
    submission_id: submissionId,
    fact_key: itemKey({
      hashed: ['fact_set_id', 'key', 'scope', 'period'],
      more: 'Facts with all four equal are numbered by `source_id`, then `content_hash`; if one is removed, the numbers of later ones shift',
    }),
    fact_set_id: text('none', 'its set of facts', { source: '`facts.fact_set_id`' }),
    key: text('none', 'its subject, such as `insured.name`', { as: 'id', required: true }),
    scope: text('none', 'its owner; `insured` if the service does not say', { as: 'id' }),
    period: text('none', 'its period; null: none', { as: 'id' }),
    value: json('personal', 'any JSON value', { as: 'any' }),
    confirmed: bool('none', 'whether it was confirmed'),
    source_id: text('none', 'its source', { path: 'source.source_id' }),
    content_hash: text('none', 'hash of the source', { path: 'source.content_hash' }),
    channel: text('none', 'such as `broker_portal`, `document`, `mapping`', { path: 'source.channel' }),
    evidence: text('none', 'so far `explicit`, `translated`, `assumed`', { path: 'source.evidence' }),
    snippet: text('free', 'quote from the source', { path: 'source.snippet' }),
    extractor_version: text('none', 'what read the source', { path: 'source.extractor_version' }),
    gone_at: goneFrom('the workspace'),
    raw: raw('personal', 'the fact as received', { source: 'the whole fact' }),
  },
})
