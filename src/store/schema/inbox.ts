import { bytes, each, int, internal, orNull, serial, type TableOf, text, time } from './table.ts'

/**
 * State of a delivery. `ready`: to be applied at `available_at`, or claimed until `available_at`. `done`: applied.
 * `aside`: kept, because it can't be understood. `dead`: dead-lettered.
 */
export type InboxState = 'ready' | 'done' | 'aside' | 'dead'

export const syncInbox = internal({
  name: 'sync_inbox',
  key: ['account', 'delivery_id'],
  holds:
    'every delivery, its body as received, its state (`ready`, `done`, `aside`, `dead`) and why; `submission-mirror inbox list` shows it',
  columns: {
    inbox_id: serial(),
    ...each(text(), 'account', 'delivery_id', 'headers'),
    ...each(time(), 'received_at', 'available_at'),
    body: orNull(bytes()),
    state: text<InboxState>(),
    ...each(int(), 'secret', 'attempts'),
    ...each(orNull(text()), 'lease_token', 'submission_id', 'kind', 'error'),
    what: orNull(text('its content: the type of its first event, or of its message, and the market')),
    settled_at: orNull(time('for a ready delivery, when it was settled before its replay')),
  },
})

export type InboxTable = TableOf<typeof syncInbox>

export const syncRejected = internal({
  name: 'sync_rejected',
  holds: 'rejected deliveries with the reason, at most 1,000; `inbox list --rejected` shows them',
  columns: {
    rejected_id: serial(),
    account: orNull(text()),
    ...each(text(), 'path', 'address', 'reason', 'headers'),
    received_at: time(),
    body: orNull(bytes()),
    replayed_at: orNull(time()),
  },
})

export type RejectedTable = TableOf<typeof syncRejected>

export const syncInboxLeft = internal({
  name: 'sync_inbox_left',
  holds: 'deliveries that were not processed yet when retention passed them',
  columns: { inbox_id: int() },
})

export const syncRejectedConnections = internal({
  name: 'sync_rejected_connections',
  holds: 'how many connections were rejected in each minute of a week, and why',
  columns: {
    noted_at: time(),
    ...each(text(), 'process_id', 'reason'),
    connections: int(),
    worst_address: text('the address with the most connections, for any reason'),
  },
})

export const syncDifferingDeliveries = internal({
  name: 'sync_differing_deliveries',
  holds:
    'hashes of bodies of well-signed deliveries whose id was stored before with another body; the newest 10,000. `is_compared` is 0 if ' +
    'retention had removed that body',
  columns: {
    ...each(text(), 'account', 'delivery_id'),
    body_sha256: text('of the body that was not stored, in hexadecimal digits'),
    ...each(time(), 'first_at', 'last_at'),
    times: int(),
    is_compared: int('0: retention had removed the first body, so whether this one differs is unknown'),
  },
})
