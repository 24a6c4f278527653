import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, submissionId } from './common.ts'
import { raw, text } from './fields.ts'

export const documentsOnFile = entity({
  table: 'documents_on_file',
  holds: 'One row for each document that the service has on file, by name, without its location.',
  read: 'requirements',
  key: ['account', 'submission_id', 'item_key'],
  fields: {
    account,
    submission_id: submissionId,
    item_key: itemKey({ hashed: ['kind', 'display_name'] }),
    kind: text('business', 'an open vocabulary'),
    kind_label: text('business', 'display text'),
    display_name: text('free', "the document's name", { shown: true }),
    gone_at: goneFrom('the view'),
    raw: raw('free', 'the item as received', { source: 'the whole item' }),
  },
})
