import { entity, type RowOf } from '../entity.ts'
import { account, goneFromFeed, messageId, submissionId } from './common.ts'

export const threadAttachments = entity({
  table: 'thread_attachments',
  holds: 'What hangs on a message. The files themselves are in `documents`, by `document_key`.',
  read: 'thread',
  parent: 'thread_messages',
  absentIsNull: true,
  key: ['account', 'submission_id', 'message_id', 'position'],
  fields: {
    account,
    submission_id: submissionId,
    message_id: messageId,
    position: { kind: 'int', class: 'none', source: 'place in `attachments`', meaning: 'counted from 0' },
    name: { kind: 'text', class: 'free', shown: true, meaning: "the file's name", identity: true },
    download_path: {
      kind: 'text',
      class: 'document',
      meaning: 'where the service gives the document, relative to its base address; null until it is final, and filled then',
      link: true,
    },
    document_key: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        "the document's id when the path names one, else a hash of the path without its query, and the name (SHA-256, hex); null without a path",
    },
    gone_at: goneFromFeed,
    raw: { kind: 'raw', class: 'free', source: 'the whole attachment', meaning: 'the attachment as it came' },
  },
})

export type ThreadAttachmentRow = RowOf<typeof threadAttachments>
