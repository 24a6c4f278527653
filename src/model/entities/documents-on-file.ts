import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, submissionId } from './common.ts'

export const documentsOnFile = entity({
  table: 'documents_on_file',
  holds: 'One row for each document that the service says it has. It tells their names only, not where they lie.',
  read: 'requirements',
  key: ['account', 'submission_id', 'item_key'],
  fields: {
    account,
    submission_id: submissionId,
    item_key: itemKey({ hashed: ['kind', 'display_name'] }),
    kind: { kind: 'text', class: 'business', meaning: 'an open vocabulary' },
    kind_label: { kind: 'text', class: 'business', meaning: 'the same in words to show' },
    display_name: { kind: 'text', class: 'free', shown: true, meaning: "the document's name" },
    gone_at: goneFrom('the view'),
    raw: { kind: 'raw', class: 'free', source: 'the whole item', meaning: 'the item as it came' },
  },
})
