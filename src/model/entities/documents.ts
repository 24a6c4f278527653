import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom } from './common.ts'

export const documents = entity({
  table: 'documents',
  holds:
    'Every document that the service names: what hangs on messages, carrier originals, documents of policies, and ids of documents that ' +
    'answers mention. The rows follow from those tables. The file itself lies under `stored_path`, in `DOCUMENTS_DIR` or the bucket.',
  read: 'document',
  key: ['account', 'document_key'],
  fields: {
    account,
    document_key: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        "the document's id when there is one, else a hash of its path or link without the query, and of its name; for a carrier original, of " +
        'its link and `presentation_id` (SHA-256, hex)',
    },
    submission_id: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: 'its submission; of several that name it the one with the lowest id; empty when none does',
      local: true,
    },
    document_id: { kind: 'text', class: 'none', source: '`document_id`, or the path', meaning: 'its id; null when it has none' },
    origin: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        '`attachment` of a message, `carrier_original` of a lane, `policy`, or `finalized`: only its id is known. The first that is true of ' +
        '`policy`, `carrier_original`, `attachment`',
    },
    name: { kind: 'text', class: 'free', shown: true, source: '`display_name`, `name`, `filename`, `label`', meaning: "the file's name" },
    source: { kind: 'text', class: 'business', source: '`source`', meaning: 'where the service has it from' },
    source_label: { kind: 'text', class: 'business', source: '`source_label`', meaning: 'the same in words to show' },
    content_type: { kind: 'text', class: 'none', source: '`content_type`', meaning: 'its media type, as said' },
    created_at: { kind: 'time', class: 'none', source: '`created_at`', meaning: 'when it was made' },
    download_path: {
      kind: 'text',
      class: 'document',
      source: '`download_path`',
      meaning: 'where the service gives it, relative to its base address',
      link: true,
    },
    document_url: {
      kind: 'text',
      class: 'document',
      source: '`document_url`',
      meaning: 'the newest link of a carrier original; it may be on another host',
      link: true,
    },
    size_bytes: { kind: 'int', class: 'none', source: '`size_bytes`', meaning: 'its length as said' },
    sha256: { kind: 'text', class: 'none', source: 'program', meaning: 'the hash of the stored file, hex; null: not stored', local: true },
    stored_bytes: { kind: 'int', class: 'none', source: 'program', meaning: 'the length of the stored file', local: true },
    stored_path: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: 'where the file lies in `DOCUMENTS_DIR` or the bucket: the first two digits of `sha256`, a slash, `sha256`',
      local: true,
    },
    stored_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was stored', local: true },
    error: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: 'why the last attempt to fetch it failed, and what follows or is to be done',
      local: true,
    },
    tried_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: 'when it was last fetched, or an attempt failed',
      local: true,
      volatile: true,
    },
    gone_at: goneFrom('the service'),
  },
})

export type DocumentRow = RowOf<typeof documents>
