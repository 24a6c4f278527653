import { entity, type RowOf } from '../entity.ts'
import { account, firstSeenAt, firstSeenVia, goneFromFeed, submissionId } from './common.ts'
import { json, raw, text, time } from './fields.ts'

export const threadMessages = entity({
  table: 'thread_messages',
  holds:
    "The correspondence between service and brokerage: the e-mails and the assistant's chat. Order: `occurred_at`, `message_id`. " +
    'It never contains texts of carriers or insureds.',
  read: 'thread',
  absentIsNull: true,
  key: ['account', 'submission_id', 'message_id'],
  fields: {
    account,
    submission_id: submissionId,
    message_id: text('none', "the message's id, stable", { path: 'id', as: 'uuid', required: true }),
    channel: text('none', '`email` or `chat`', { required: true, identity: true }),
    direction: text('none', '`inbound`: from the brokerage; `outbound`: from the service', {
      required: true,
      identity: true,
    }),
    kind: text(
      'none',
      "the e-mail's type, such as `initial_clearance`, `market_plan_update`, `quote_delivery`, `broker_reply`; or `chat`",
      { required: true, identity: true },
    ),
    occurred_at: time('none', 'when it was sent', { required: true, identity: true }),
    subject: text('free', 'null on chat', { shown: true, identity: true }),
    body_text: text('free', 'always plain text', { required: true, identity: true }),
    from_address: text('personal', 'e-mail address; null on chat', { path: 'from', identity: true }),
    to_addresses: json('personal', 'list of e-mail addresses; empty on chat', { path: 'to', identity: true }),
    in_reply_to: text('none', 'Message-ID of the e-mail that it answers, if known. No row has its own Message-ID, so it matches none', {
      identity: true,
    }),
    first_seen_at: firstSeenAt,
    first_seen_via: firstSeenVia,
    gone_at: goneFromFeed,
    raw: raw('free', 'the message as received', { source: 'the whole message' }),
  },
})

export type ThreadMessageRow = RowOf<typeof threadMessages>
