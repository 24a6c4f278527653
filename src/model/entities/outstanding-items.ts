import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, submissionId } from './common.ts'

export const outstandingItems = entity({
  table: 'outstanding_items',
  holds:
    'What the broker must still supply: requirements that are not met, and open questions of carriers, each once. One that is answered or no longer asked for is gone.',
  read: 'outstanding',
  key: ['account', 'submission_id', 'item_key'],
  fields: {
    account,
    submission_id: submissionId,
    item_key: itemKey({ own: 'key', hashed: ['label'] }),
    key: { kind: 'text', class: 'none', meaning: 'what an answer names it by' },
    label: { kind: 'text', class: 'free', shown: true, meaning: 'the same in words to show' },
    source: { kind: 'text', class: 'none', meaning: 'an open vocabulary' },
    input: { kind: 'text', class: 'none', meaning: 'how it is asked for, such as `text`, `number`, `bool`, `select`, `date`' },
    options: { kind: 'json', class: 'business', meaning: 'list of objects: what may be chosen' },
    markets: { kind: 'json', class: 'business', meaning: 'list of names: the markets that it unlocks' },
    how_to_provide: {
      kind: 'text',
      class: 'free',
      shown: true,
      meaning: 'how to supply it, in words; JSON text when the service sends more than words',
      mayHoldJson: true,
    },
    gone_at: goneFrom('the list'),
    raw: { kind: 'raw', class: 'free', source: 'the whole item', meaning: 'the item as it came' },
  },
})
