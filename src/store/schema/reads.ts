import type { SurpriseKind } from '../../model/interface-drift.ts'
import type { KnownKind } from '../../model/known-ids.ts'
import type { OptionalRead, ReadKind } from '../../model/reads.ts'
import type { ViewPart } from '../../model/view.ts'
import { int, internal, orNull, raw, relation, type TableOf, text, time } from './table.ts'

/** What is read from the service when, of which account. */

export const freshness = relation({
  name: 'freshness',
  type: 'view',
  holds: "How old the mirror's knowledge is: one row for each submission and each of its reads.",
  key: [],
  columns: {
    account: text('whose it is', { source: 'settings' }),
    submission_id: text('the submission', { source: 'service' }),
    read: text<ReadKind | ViewPart>(
      '`events`, `thread`, `requirements`, `outstanding`, `workspace`, `sessions`; of what is read by its id `bind_request`, `policy`, `insured`, ' +
        'each as old as the oldest of them; the parts of the requirements view that an answer may leave out: `rail` (lanes, quotes, source ' +
        'offers), `quote_history`, `assessment` (programs and their requirements). A part that no answer has shown has no row',
    ),
    last_read_at: orNull(time('when it was last read to its end; null: never yet')),
    last_changed_at: orNull(time('when a read last brought something')),
    last_replay_at: orNull(time('when the feed was last read whole, from the beginning; always null for state reads')),
  },
})

export type FreshnessView = TableOf<typeof freshness>

export const syncReads = internal({
  name: 'sync_reads',
  key: ['account', 'submission_id', 'read'],
  holds: 'for each submission and read: cursor, when it is due, lease, failures, the last error',
  columns: {
    account: text(),
    submission_id: text(),
    read: text<ReadKind>(),
    rank: int(
      '0: woken, 1: scheduled, 2: failing, 3: detail reads in the background. Live work goes before routine work; failing reads never displace working ones',
    ),
    due_at: time(),
    due_since: orNull(time('since when a claimed read was due, or its last page; null: not claimed since it was last settled')),
    lease_token: orNull(text()),
    wake_no: int(),
    cursor: orNull(text()),
    cursor_no: int(),
    issued_no: int(),
    applied_no: int(),
    active_at: orNull(time('when something last moved here, for the polling interval')),
    refused_cursor: orNull(text('the last cursor that the service refused, kept for diagnosis')),
    failures: int(),
    not_found: int(),
    stalled_walks: int(),
    error: orNull(text()),
    last_read_at: orNull(time()),
    last_changed_at: orNull(time()),
    last_replay_at: orNull(time()),
    replay_due_at: orNull(time()),
    content_hash: orNull(
      text('of what the read with the number `hash_no` showed; null when something of the submission has changed since'),
    ),
    hash_no: orNull(int()),
  },
})

export type ReadsTable = TableOf<typeof syncReads>

export const knownIds = relation({
  name: 'known_ids',
  type: 'view',
  holds:
    'What the service lists nowhere and answers by its id alone: bind requests, policies, insureds, documents. One row for each id that an ' +
    'answer or an operator (`track --policy` …) named.',
  key: [],
  columns: {
    account: text('whose it is', { source: 'settings' }),
    kind: text<KnownKind>('`bind_request`, `policy`, `insured`, `document`'),
    id: text('the id', { source: '`bind_request_id`, `policy_id`, `insured_id`, `document_id`' }),
    submission_id: orNull(text('the submission that it was named for; null when none is known', { source: 'the answer' })),
    via: text(
      'what named it first: `webhook`, a read such as `thread` or `requirements`, `discovery:` and the path, `command`, `reconcile`',
    ),
    first_seen_at: time('when it was first named'),
    last_read_at: orNull(time('when it was last read; null: never yet, and for a document')),
    error: orNull(text('why the last read failed; null when it did not')),
  },
})

export const syncKnownIds = internal({
  name: 'sync_known_ids',
  holds:
    'ids of bind requests, policies, insureds and documents: when each is read next, lease, failures, the last error; `known_ids` shows them',
  columns: {
    account: text(),
    kind: text<KnownKind>(),
    id: text(),
    submission_id: orNull(text('null when none is known')),
    via: text(),
    first_seen_at: time(),
    last_read_at: orNull(time()),
    last_changed_at: orNull(time()),
    error: orNull(text()),
    due_at: orNull(time('null: it is not read. While it is claimed, the end of the lease')),
    wake_no: int(),
    issued_no: int(),
    applied_no: int(),
    failures: int(),
    not_found: int(),
    is_final: int('1: nothing is expected of it any more'),
    lease_token: orNull(text()),
    content_hash: orNull(text('as in `sync_reads`')),
    hash_no: orNull(int()),
  },
})

export const syncReadsOff = internal({
  name: 'sync_reads_off',
  holds: 'reads that an account does not make: left out by `STATE_READS`, or refused by the service until `retry_at`; `status`',
  columns: {
    account: text(),
    read: text<OptionalRead>(),
    cause: text<'settings' | 'service'>('who says so: `STATE_READS`, or the service, which refuses the read'),
    reason: text(),
    since: time(),
    retry_at: orNull(time('when a read that the service refuses is tried again; null: never by itself')),
  },
})

export type ReadsOffTable = TableOf<typeof syncReadsOff>

export const extraReads = relation({
  name: 'extra_reads',
  type: 'table',
  holds:
    'The last answer of each path that `accounts[].extra_reads` names, for what the service has without showing its fields. It is in no change ' +
    'log, goes to no destination, and is compared by no reconcile run.',
  key: ['account', 'submission_id', 'name'],
  columns: {
    account: text('whose it is', { source: 'settings' }),
    submission_id: text('the submission that was asked for; empty when the path has none', { source: 'path' }),
    name: text('its name in the settings', { source: 'settings' }),
    read_at: time('when it was read'),
    raw: raw('the answer as it came, tax ids aside', { source: 'the whole answer', class: 'free' }),
  },
})

/** One row per path of discovery, and per extra read of each submission that it is made for. */
export const syncPathReads = internal({
  name: 'sync_path_reads',
  key: ['account', 'submission_id', 'name', 'path'],
  holds:
    'each path that is probed for submissions, and each extra read, for each submission that it is made for: when it is read next, lease, failures, the ' +
    'last error; of what is probed the last answer (its first 1 MiB; 16 KiB of each path with an id in it)',
  columns: {
    account: text(),
    submission_id: text('empty for a path without a submission'),
    name: text('of an extra read; of discovery its form in the settings, with a key in braces where `path` has an id'),
    path: text('the requested path of discovery; empty for an extra read'),
    due_at: time(),
    lease_token: orNull(text()),
    outcome: orNull(text('`ok`, `limited`, or the class of the failure')),
    failures: int('consecutive failures'),
    error: orNull(text()),
    last_read_at: orNull(time('when it last answered with JSON')),
    ids: int('of discovery: submission ids in the last answer'),
    found: int('submissions discovered through it, in total'),
    raw: orNull(text('the last answer of discovery, cut to a limit')),
    raw_bytes: orNull(int('length of the last answer')),
  },
})

export type PathReadsTable = TableOf<typeof syncPathReads>

export const syncAccounts = internal({
  name: 'sync_accounts',
  holds:
    "each account's state (`active`, `suspended`, `paused`), the reason, the brokerage that is pinned, the pause that the service asked for; `account list`",
  columns: {
    account: text(),
    state: text<'active' | 'paused' | 'suspended'>(),
    reason: orNull(text()),
    since: orNull(time()),
    retry_at: orNull(time()),
    refused_with: orNull(text('salted fingerprint of the credentials that were refused: others are tried when `serve` starts or reloads')),
    brokerage: orNull(text()),
    client_id: orNull(text()),
    label: orNull(text('name of the credential, as the service gives it')),
    active_states: orNull(text('JSON: list of the states in which the service is active; null when it is in all')),
    sweep_wanted: int(),
    swept_at: orNull(time()),
    events_unreadable_at: orNull(time()),
    identity_error: orNull(
      text('why the service does not say whose the credentials are, and since when; null as long as it does, or did not answer at all'),
    ),
    identity_failing_since: orNull(time()),
    throttled_since: orNull(time('the newest pause that the service asked for (`Retry-After`), which may be over')),
    throttled_until: orNull(time()),
    throttled_reason: orNull(text()),
  },
})

export type AccountsTable = TableOf<typeof syncAccounts>

/** Secrets and credentials are stored nowhere. */
export const syncLastUses = internal({
  name: 'sync_last_uses',
  holds:
    'for each account when a webhook secret verified a delivery last, and when the service last gave a token for a credential; `account list`. ' +
    'A credential is known by its id, a secret by a short tag that is made of it and that nothing can be made of',
  columns: {
    account: text(),
    kind: text<'credential' | 'webhook_secret'>(),
    key: text('the id of a credential, or the tag of a secret; see `secretTag`'),
    last_used_at: time(),
  },
})

export type LastUsesTable = TableOf<typeof syncLastUses>

export const syncPurged = internal({
  name: 'sync_purged',
  key: ['account', 'submission_id'],
  holds: 'submissions that were purged: they are not tracked until `track --again`',
  columns: {
    account: text(),
    submission_id: text(),
    purged_at: time(),
    finished_at: orNull(time('null: the purge was interrupted, or is running')),
  },
})

export const syncInterfaceDrift = internal({
  name: 'sync_interface_drift',
  holds:
    'how answers and deliveries differ from the specification: fields, values of vocabularies and types that it does not name, and required ' +
    'fields that are missing, by path, with how often; never values. `status --drift` shows it',
  columns: {
    account: text(),
    resource: text('the read that it was in, or the kind of the delivery'),
    path: text(),
    kind: text<SurpriseKind>(),
    type: text('the JSON type that was seen; `absent` for a missing field'),
    first_seen_at: time(),
    last_seen_at: time(),
    answers: int('in how many answers and deliveries'),
  },
})

export type InterfaceDriftTable = TableOf<typeof syncInterfaceDrift>
