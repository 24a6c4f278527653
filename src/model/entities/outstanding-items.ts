import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, submissionId } from './common.ts'
import { json, raw, text } from './fields.ts'

export const outstandingItems = entity({
  table: 'outstanding_items',
  holds:
    'Items that the broker must still supply: unmet requirements and open questions of carriers. An answered or withdrawn one is gone.',
  read: 'outstanding',
  key: ['account', 'submission_id', 'item_key'],
  fields: {
    account,
    submission_id: submissionId,
    item_key: itemKey({ own: 'key', hashed: ['label'] }),
    key: text('none', 'its name in an answer'),
    label: text('free', 'display text', { shown: true }),
    source: text('none', 'an open vocabulary'),
    input: text('none', 'input type, such as `text`, `number`, `bool`, `select`, `date`'),
    options: json('business', 'list of objects: the choices'),
    markets: json('business', 'list of names: the markets that it unlocks'),
    how_to_provide: text('free', 'how to supply it, in words; JSON text if the service sends more', { shown: true, mayHoldJson: true }),
    gone_at: goneFrom('the list'),
    raw: raw('free', 'the item as received', { source: 'the whole item' }),
  },
})
