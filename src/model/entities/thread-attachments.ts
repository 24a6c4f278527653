import { entity, type RowOf } from '../entity.ts'
import { account, goneFromFeed, messageId, submissionId } from './common.ts'
import { int, raw, text } from './fields.ts'

export const threadAttachments = entity({
  table: 'thread_attachments',
  holds: 'Attachments of messages. Their files are in `documents`, by `document_key`.',
  read: 'thread',
  parent: 'thread_messages',
  absentIsNull: true,
  key: ['account', 'submission_id', 'message_id', 'position'],
  fields: {
    account,
    submission_id: submissionId,
    message_id: messageId,
    position: int('none', 'counted from 0', { source: 'place in `attachments`' }),
    name: text('free', "the file's name", { shown: true, identity: true }),
    download_path: text('document', 'its path below the base address of the service; null until it is final', { link: true }),
    document_key: text(
      'none',
      "the document's id if the path contains one, else a hash of the path without its query, and the name (SHA-256, hex); null without a path",
      { source: 'program' },
    ),
    gone_at: goneFromFeed,
    raw: raw('free', 'the attachment as received', { source: 'the whole attachment' }),
  },
})

export type ThreadAttachmentRow = RowOf<typeof threadAttachments>
