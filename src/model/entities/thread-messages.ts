import { entity, type RowOf } from '../entity.ts'
import { account, firstSeenAt, firstSeenVia, goneFromFeed, submissionId } from './common.ts'

export const threadMessages = entity({
  table: 'thread_messages',
  holds:
    "The correspondence between service and brokerage: the e-mails and the assistant's chat. Order: `occurred_at`, `message_id`. " +
    'The text of carriers and insureds is never in it.',
  read: 'thread',
  absentIsNull: true,
  key: ['account', 'submission_id', 'message_id'],
  fields: {
    account,
    submission_id: submissionId,
    message_id: { kind: 'text', class: 'none', path: 'id', as: 'uuid', required: true, meaning: "the message's id, stable" },
    channel: { kind: 'text', class: 'none', required: true, meaning: '`email` or `chat`', identity: true },
    direction: {
      kind: 'text',
      class: 'none',
      required: true,
      meaning: "the service's view: `inbound` was written by the brokerage, `outbound` by the service",
      identity: true,
    },
    kind: {
      kind: 'text',
      class: 'none',
      required: true,
      meaning: "the e-mail's type, such as `initial_clearance`, `market_plan_update`, `quote_delivery`, `broker_reply`; or `chat`",
      identity: true,
    },
    occurred_at: { kind: 'time', class: 'none', required: true, meaning: 'when it was sent', identity: true },
    subject: { kind: 'text', class: 'free', shown: true, meaning: 'null on chat', identity: true },
    body_text: { kind: 'text', class: 'free', required: true, meaning: 'plain text always', identity: true },
    from_address: { kind: 'text', class: 'personal', path: 'from', meaning: 'e-mail address; null on chat', identity: true },
    to_addresses: { kind: 'json', class: 'personal', path: 'to', meaning: 'list of e-mail addresses; empty on chat', identity: true },
    in_reply_to: {
      kind: 'text',
      class: 'none',
      meaning: 'Message-ID of the e-mail that it answers, when known. No row bears a Message-ID of its own, so it leads to none',
      identity: true,
    },
    first_seen_at: firstSeenAt,
    first_seen_via: firstSeenVia,
    gone_at: goneFromFeed,
    raw: { kind: 'raw', class: 'free', source: 'the whole message', meaning: 'the message as it came' },
  },
})

export type ThreadMessageRow = RowOf<typeof threadMessages>
