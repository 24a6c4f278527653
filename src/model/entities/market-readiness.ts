import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, submissionId } from './common.ts'
import { bool, json, raw, text } from './fields.ts'

export const marketReadiness = entity({
  table: 'market_readiness',
  holds:
    'One row for each market of the requirements view and each of its programs: whether it can be approached, and what it still needs from whom. ' +
    'An empty list while markets are being matched means "not yet" and changes nothing.',
  read: 'requirements',
  key: ['account', 'submission_id', 'readiness_key'],
  fields: {
    account,
    submission_id: submissionId,
    readiness_key: itemKey({ hashed: ['lane_id', 'market_name', 'program'] }),
    lane_id: text('none', 'its lane; null: none', { nullable: true, as: 'uuid' }),
    market_name: text('business', "the market's name"),
    program: text('business', "the program's name", { nullable: true }),
    program_category: text('business', 'so far `instant_quote`, `binding`, `specialty`'),
    category_label: text('business', 'display text', { nullable: true }),
    ready: bool('none', 'nothing is missing'),
    needs_from_you: json('free', 'list: items that only the broker can supply, in words', { shown: true }),
    hedge_obtains: json('free', 'list: items that the service gets itself, in words', { shown: true }),
    gone_at: goneFrom('the view'),
    raw: raw('free', 'the market in the view', { source: 'the whole market' }),
  },
})
