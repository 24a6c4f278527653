import type { SurpriseKind } from '../../model/api-changes.ts'
import type { KnownKind } from '../../model/known-ids.ts'
import type { OptionalRead, ReadKind } from '../../model/reads.ts'
import type { ViewPart } from '../../model/view.ts'
import { each, int, internal, orNull, raw, relation, type TableOf, text, time } from './table.ts'

export const freshness = relation({
  name: 'freshness',
  type: 'view',
  holds: "The age of the mirror's data: one row for each submission and each of its reads.",
  key: [],
  columns: {
    account: text('the account', { source: 'settings' }),
    submission_id: text('the submission', { source: 'service' }),
    read: text<ReadKind | ViewPart>(
      '`events`, `thread`, `requirements`, `outstanding`, `workspace`, `sessions`; reads by id, `bind_request`, `policy`, `insured`, each as old ' +
        'as its oldest; optional parts of the requirements view: `rail` (lanes, quotes, source offers), `quote_history`, `assessment` ' +
        '(programs and their requirements). A part that no answer has shown has no row',
    ),
    last_read_at: orNull(time('when it was last read to the end, other than by a reconcile run; null: never')),
    last_changed_at: orNull(time('when a read last changed something')),
    last_full_read_at: orNull(time('when the feed was last re-read from the beginning; always null for state reads')),
  },
})

export type FreshnessView = TableOf<typeof freshness>

export const syncReads = internal({
  name: 'sync_reads',
  key: ['account', 'submission_id', 'id', 'read'],
  holds:
    'for each read of a submission, and each id of a bind request, policy, insured or document: cursor, due time, lease, failures, last error; ' +
    '`known_ids` shows the ids',
  columns: {
    account: text(),
    submission_id: text('empty for a read by id'),
    read: text<ReadKind | KnownKind>(),
    id: text('for a read by id; empty for a read of a submission'),
    named_for: orNull(text('the submission that an id was named for; empty if none is known; null for a read of a submission')),
    via: orNull(text('what named an id first')),
    first_seen_at: orNull(time('when an id was first named')),
    is_final: orNull(int('1: this id is no longer expected to change')),
    rank: int(
      '0: requested, 1: scheduled, 2: failing, 3: detail reads in the background, 4: reads by id. Live work precedes routine work; failing reads never displace working ones',
    ),
    due_at: orNull(time('null: an id that is not read; while claimed, the end of the lease')),
    due_since: orNull(time('since when a claimed read, or its last page, was due; null: not claimed since it was last settled')),
    ...each(orNull(text()), 'lease_token', 'cursor', 'error'),
    ...each(int(), 'request_no', 'cursor_no', 'issued_no', 'applied_no', 'failures', 'not_found', 'stalled_feed_reads'),
    active_at: orNull(time('the last activity, for the polling interval')),
    refused_cursor: orNull(text('the last cursor that the service rejected, kept for diagnosis')),
    ...each(orNull(time()), 'last_read_at', 'last_changed_at', 'last_full_read_at', 'full_read_due_at'),
    content_hash: orNull(text('of the result of read number `hash_no`; null if the submission has changed since')),
    hash_no: orNull(int()),
  },
})

export type ReadsTable = TableOf<typeof syncReads>

export const knownIds = relation({
  name: 'known_ids',
  type: 'view',
  holds:
    'Ids that an answer or an operator (`track --policy` …) named, for objects that the service does not list: bind requests, policies, ' +
    'insureds, documents. One row for each id.',
  key: [],
  columns: {
    account: text('the account', { source: 'settings' }),
    kind: text<KnownKind>('`bind_request`, `policy`, `insured`, `document`'),
    id: text('the id', { source: '`bind_request_id`, `policy_id`, `insured_id`, `document_id`' }),
    submission_id: orNull(text('the submission that it was named for; null if none is known', { source: 'the answer' })),
    via: text('what named it first: `webhook`, a read such as `thread` or `requirements`, `discovery:` and a path, `command`, `reconcile`'),
    first_seen_at: time('when it was first named'),
    last_read_at: orNull(time('when it was last read; null: never, and for a document')),
    error: orNull(text('why the last read failed; null if it did not')),
  },
})

export const syncReadsOff = internal({
  name: 'sync_reads_off',
  holds: 'disabled reads of an account: left out by `STATE_READS`, or rejected by the service until `retry_at`; `status`',
  columns: {
    account: text(),
    read: text<OptionalRead>(),
    cause: text<'settings' | 'service'>('who disabled it: `STATE_READS`, or the service, which rejects the read'),
    reason: text(),
    since: time(),
    retry_at: orNull(time('when a read that the service rejects is retried; null: never automatically')),
  },
})

export type ReadsOffTable = TableOf<typeof syncReadsOff>

export const extraReads = relation({
  name: 'extra_reads',
  type: 'table',
  holds:
    'The last answer of each path in `accounts[].extra_reads`, for objects whose fields the service does not show. It is not in the change log, ' +
    'pushed, or compared by reconcile runs.',
  key: ['account', 'submission_id', 'name'],
  columns: {
    account: text('the account', { source: 'settings' }),
    submission_id: text('the submission in the path; empty if the path has none', { source: 'path' }),
    name: text('its name in the settings', { source: 'settings' }),
    read_at: time('when it was read'),
    raw: raw('the answer as received, except tax ids', { source: 'the whole answer', class: 'free' }),
  },
})

/** One row for each discovery path, and one for each extra read of an account or of a submission. */
export const syncPathReads = internal({
  name: 'sync_path_reads',
  key: ['account', 'submission_id', 'name', 'path'],
  holds:
    'each path that is probed for submissions, and each extra read of each submission: next read, lease, failures, last error; for probed paths ' +
    'the last answer (its first 1 MiB; 16 KiB for a path with an id)',
  columns: {
    account: text(),
    submission_id: text('empty for a path without a submission'),
    name: text('of an extra read; for discovery the path in the settings, with a key in braces instead of an id'),
    path: text('the requested path of discovery; empty for an extra read'),
    due_at: time(),
    ...each(orNull(text()), 'lease_token', 'error'),
    outcome: orNull(text('`ok`, `limited`, or the class of the failure')),
    failures: int('consecutive failures'),
    last_read_at: orNull(time('when it last answered with JSON')),
    ids: int('for discovery: submission ids in the last answer'),
    found: int('submissions discovered through it, in total'),
    raw: orNull(text('the last answer of discovery, cut to a limit')),
    raw_bytes: orNull(int('length of the last answer')),
  },
})

export type PathReadsTable = TableOf<typeof syncPathReads>

export const syncAccounts = internal({
  name: 'sync_accounts',
  holds: "each account's state (`active`, `suspended`, `paused`), reason, pinned brokerage, and pause by the service; `account list`",
  columns: {
    account: text(),
    state: text<'active' | 'paused' | 'suspended'>(),
    ...each(orNull(text()), 'reason', 'brokerage', 'client_id', 'throttled_reason'),
    ...each(orNull(time()), 'since', 'retry_at', 'swept_at', 'events_unreadable_at', 'identity_failing_since', 'throttled_until'),
    refused_with: orNull(text('salted fingerprint of the rejected credentials; `serve` tries others when it starts or reloads')),
    label: orNull(text("the service's name of the credential")),
    active_states: orNull(text('JSON: list of the states in which the service is active; null for all')),
    sweep_wanted: int(),
    identity_error: orNull(text('why the service does not identify the credentials; null if it does, or did not answer')),
    throttled_since: orNull(time('the newest pause that the service asked for (`Retry-After`), which may be over')),
  },
})

export type AccountsTable = TableOf<typeof syncAccounts>

export const syncLastUses = internal({
  name: 'sync_last_uses',
  holds:
    'for each account when a webhook secret last verified a delivery, and when the service last issued a token for a credential; ' +
    '`account list`. A credential is identified by its id, a secret by a short tag that reveals nothing',
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
  holds: 'purged submissions: they are not tracked until `track --again`',
  columns: {
    ...each(text(), 'account', 'submission_id'),
    purged_at: time(),
    finished_at: orNull(time('null: the purge was interrupted, or is running')),
  },
})

export const syncApiChanges = internal({
  name: 'sync_api_changes',
  holds:
    'how answers and deliveries differ from the spec: unknown fields, values and types, and missing required fields, by path, with how often; ' +
    'never values. `status --api-changes` shows it',
  columns: {
    account: text(),
    resource: text('its read, or the kind of its delivery'),
    path: text(),
    kind: text<SurpriseKind>(),
    type: text('the JSON type that was seen; `absent` for a missing field'),
    ...each(time(), 'first_seen_at', 'last_seen_at'),
    answers: int('number of answers and deliveries with it'),
  },
})

export type ApiChangesTable = TableOf<typeof syncApiChanges>
