import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, itemKey, submissionId } from './common.ts'

export const marketReadiness = entity({
  table: 'market_readiness',
  holds:
    'One row for each market of the requirements view, and for each of its programs: whether it can be approached, and what it still needs from ' +
    'whom. An empty list while markets are being matched means "not yet" and changes nothing.',
  read: 'requirements',
  key: ['account', 'submission_id', 'readiness_key'],
  fields: {
    account,
    submission_id: submissionId,
    readiness_key: itemKey({ hashed: ['lane_id', 'market_name', 'program'] }),
    lane_id: { kind: 'text', nullable: true, class: 'none', as: 'uuid', meaning: 'its lane; null while it has none' },
    market_name: { kind: 'text', class: 'business', meaning: "the market's name" },
    program: { kind: 'text', nullable: true, class: 'business', meaning: "the program's name" },
    program_category: { kind: 'text', class: 'business', meaning: 'so far `instant_quote`, `binding`, `specialty`' },
    category_label: { kind: 'text', nullable: true, class: 'business', meaning: 'the same in words to show' },
    ready: { kind: 'bool', class: 'none', meaning: 'nothing is missing' },
    needs_from_you: { kind: 'json', class: 'free', shown: true, meaning: 'list: what only the broker can supply, in words' },
    hedge_obtains: { kind: 'json', class: 'free', shown: true, meaning: 'list: what the service fetches itself, in words' },
    gone_at: goneFrom('the view'),
    raw: { kind: 'raw', class: 'free', source: 'the whole market', meaning: 'the market as the view shows it' },
  },
})

export type MarketReadinessRow = RowOf<typeof marketReadiness>
