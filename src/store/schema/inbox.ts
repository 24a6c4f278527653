import { bytes, int, internal, orNull, serial, type TableOf, text, time } from './table.ts'

/** Deliveries, and what is known of their senders. */

/** `ready`: due at `available_at`, which a lease moves on. `done`. `aside`: kept, but not readable. `dead`: given up. */
export type InboxState = 'ready' | 'done' | 'aside' | 'dead'

export const syncInbox = internal({
  name: 'sync_inbox',
  key: ['account', 'delivery_id'],
  holds:
    'every delivery, its body as received, what became of it (`ready`, `done`, `aside`, `dead`) and why. `submission-mirror ' +
    'inbox list` shows it',
  columns: {
    inbox_id: serial(),
    account: text(),
    delivery_id: text(),
    received_at: time(),
    headers: text(),
    body: orNull(bytes()),
    secret: int(),
    state: text<InboxState>(),
    attempts: int(),
    available_at: time(),
    lease_token: orNull(text()),
    submission_id: orNull(text()),
    kind: orNull(text()),
    what: orNull(text('what it told: the type of its first event, or of its message, and the market')),
    error: orNull(text()),
    settled_at: orNull(time('of a ready one when it was settled before it was replayed')),
  },
})

export type InboxTable = TableOf<typeof syncInbox>

export const syncRejected = internal({
  name: 'sync_rejected',
  holds: 'rejected deliveries with the reason, at most 1,000; `inbox list --rejected`',
  columns: {
    rejected_id: serial(),
    account: orNull(text()),
    path: text(),
    received_at: time(),
    address: text(),
    reason: text(),
    headers: text(),
    body: orNull(bytes()),
    replayed_at: orNull(time()),
  },
})

export type RejectedTable = TableOf<typeof syncRejected>

export const syncInboxLeft = internal({
  name: 'sync_inbox_left',
  holds: 'deliveries that were not worked yet when retention passed them',
  columns: {
    inbox_id: int(),
  },
})

export const syncRefusedConnections = internal({
  name: 'sync_refused_connections',
  holds: 'how many connections were refused in each minute, and why; of a week',
  columns: {
    noted_at: time(),
    process_id: text(),
    reason: text(),
    connections: int(),
    worst_address: text('the address with the most of all reasons'),
  },
})

export const syncDifferingDeliveries = internal({
  name: 'sync_differing_deliveries',
  holds:
    'hashes of bodies that came, well signed, under an id that was stored before with another body; `is_compared` is 0 where ' +
    'retention had removed that one. The newest 10,000',
  columns: {
    account: text(),
    delivery_id: text(),
    body_sha256: text('of the body that was not kept, in hexadecimal digits'),
    first_at: time(),
    last_at: time(),
    times: int(),
    is_compared: int('0 when retention had removed the first body: then nobody knows whether this one differs'),
  },
})
