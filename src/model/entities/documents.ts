import { entity, type RowOf } from '../entity.ts'
import { account, byMirror, goneFrom } from './common.ts'
import { int, text, time } from './fields.ts'

export const documents = entity({
  table: 'documents',
  holds:
    'Every document that the service names: attachments of messages, carrier originals, documents of policies, and document ids in answers. The ' +
    'rows follow from those tables. The file is stored at `stored_path`, in `DOCUMENTS_DIR` or the bucket.',
  read: 'document',
  key: ['account', 'document_key'],
  fields: {
    account,
    document_key: text(
      'none',
      "the document's id, or without one a hash of its path or link without the query and its name; for a carrier original, of its link and " +
        '`presentation_id` (SHA-256, hex)',
      { source: 'program' },
    ),
    submission_id: text('none', 'the submission; if several name it, the one with the lowest id; empty if none does', byMirror),
    document_id: text('none', 'its id; null: none', { source: '`document_id`, or the path' }),
    origin: text(
      'none',
      '`attachment` of a message, `carrier_original` of a lane, `policy`, or `finalized`: only its id is known. If several apply: `policy`, then ' +
        '`carrier_original`, then `attachment`',
      { source: 'program' },
    ),
    name: text('free', "the file's name", { shown: true, source: '`display_name`, `name`, `filename`, `label`' }),
    source: text('business', 'where the service got it', { source: '`source`' }),
    source_label: text('business', 'display text', { source: '`source_label`' }),
    content_type: text('none', 'media type from the service', { source: '`content_type`' }),
    created_at: time('none', 'when it was created', { source: '`created_at`' }),
    download_path: text('document', 'its path below the base address of the service', { source: '`download_path`', link: true }),
    document_url: text('document', 'newest link of a carrier original, maybe on another host', { source: '`document_url`', link: true }),
    size_bytes: int('none', 'length from the service', { source: '`size_bytes`' }),
    sha256: text('none', 'hash of the stored file, hex; null: not stored', byMirror),
    stored_bytes: int('none', 'length of the stored file', byMirror),
    stored_path: text('none', 'path in `DOCUMENTS_DIR` or the bucket: the first two digits of `sha256`, a slash, `sha256`', byMirror),
    stored_at: time('none', 'when it was stored', byMirror),
    error: text('none', 'why the last attempt to fetch it failed, and what happens next or what to do', byMirror),
    tried_at: time('none', 'when it was last fetched, or an attempt failed', { ...byMirror, volatile: true }),
    gone_at: goneFrom('the service'),
  },
})

export type DocumentRow = RowOf<typeof documents>
