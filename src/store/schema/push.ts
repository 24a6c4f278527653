import { bool, each, int, internal, json, orNull, raw, relation, serial, type TableOf, text, time } from './table.ts'

/**
 * `paused`: a person stopped the destination. `suspended`: stopped automatically, because the endpoint rejects every
 * request.
 */
export type DestinationState = 'active' | 'paused' | 'suspended'

export const outboxStates = ['ready', 'delivered', 'dead', 'unknown', 'skipped'] as const
export type OutboxState = (typeof outboxStates)[number]

/**
 * Why a stream is blocked. `unmapped`: its submission has no client in the AMS. `held`: a dead or unknown row blocks
 * the rows after it (`on_dead: hold`).
 */
export type StreamBlock = 'unmapped' | 'held'

export const pushMap = relation({
  name: 'push_map',
  type: 'table',
  holds:
    'The client or policy of an agency-management system (AMS) that a submission belongs to, from an operator (`destination map`, or a row ' +
    'written here) or from the AMS. Never matched by name.',
  key: ['destination', 'account', 'submission_id'],
  columns: {
    destination: text('the destination, by its name in the settings', { source: 'settings' }),
    account: text('the account', { source: 'settings' }),
    submission_id: text('the submission', { source: 'service' }),
    client: text("the client's id in the AMS; a blank one counts as no row", { source: 'operator, AMS', class: 'business' }),
    policy: orNull(text("the policy's id in the AMS, if any", { source: 'operator, AMS', class: 'business' })),
    fields: orNull(
      json("further values for the destination's templates, an object of names and texts", { source: 'operator, AMS', class: 'free' }),
    ),
    mapped_at: time('when it was last stored or changed', { source: 'program, else the database' }),
    mapped_via: text('`import` (a file), `command`, `admin`, `lookup` (the AMS answered), or `sql` (written by hand)', {
      source: 'program, else the database',
    }),
  },
  notes: [
    'If a destination needs a row here, changes of a submission wait until it has one. You can write the table by hand while the program runs: ' +
      '`queries-operations.md` has the statement. `destination`, `account`, `submission_id` (as in `submissions`) and `client` are required, the rest is ' +
      'optional. Waiting changes are sent within about ten seconds.',
  ],
})

export const pushStatus = relation({
  name: 'push_status',
  type: 'view',
  holds: 'When each change reached each destination, or why not: one row for each change (or snapshot row) and destination.',
  key: [],
  columns: {
    destination: text('the destination, by its name in the settings', { source: 'settings' }),
    destination_state: text<DestinationState>(
      '`active`; `paused` by an operator; `suspended` automatically, because it rejects every request or the credentials: one change at a time ' +
        'tests it; after a 410 only once an operator resumes it',
    ),
    account: text('the account', { source: '`changes`' }),
    submission_id: orNull(text('the submission', { source: '`changes`' })),
    entity: text('the table', { source: '`changes`' }),
    entity_id: text("the row's key after `account`, as a JSON list", { source: '`changes`' }),
    operation: text('`insert` for a snapshot row', { source: '`changes`' }),
    seq: int('the change; for a snapshot row the newest change that it contains', { source: '`changes`' }),
    message_id: text('the id for the receiver (`webhook-id`), the same on every attempt'),
    state: text<'waiting' | 'retrying' | StreamBlock | Exclude<OutboxState, 'ready'>>(
      '`waiting`, `retrying`, `unmapped`, `held`, `delivered`, `dead`, `unknown`, `skipped`: see below',
    ),
    is_open: bool('whether it still has to reach the receiver: every `state` except `delivered` and `skipped`. Indexed'),
    attempts: int('finished attempts'),
    queued_at: time('when it was queued'),
    tried_at: orNull(time('when the last attempt ended')),
    next_try_at: orNull(time('when its submission is next due; null if no attempt is scheduled')),
    delivered_at: orNull(time('when the receiver accepted it')),
    status: orNull(int('status code of the last answer, if any', { source: 'receiver' })),
    error: orNull(text('the last error, or why it was not sent', { source: 'receiver, program', class: 'free' })),
    remote_id: orNull(text("the receiver's id of the record", { source: 'receiver' })),
  },
  notes: [
    "Changes outside a destination's filters have no row. Sent rows are kept for `RETENTION_DAYS`.",
    '`state`: `waiting`: not attempted yet. `retrying`. `unmapped`: its submission has no row in `push_map`. `held`: it waits behind a ' +
      'dead-lettered change. `delivered`. `dead`: dead-lettered. `unknown`: it may have been sent, and an operator must check whether it ' +
      'arrived. `skipped`: by an operator, or because the receiver cannot take it or has it already (see `error`).',
  ],
})

export type PushStatusView = TableOf<typeof pushStatus>

/** Results of asking a target whether it has a delivered change. */
export const verificationResults = ['has', 'lacks', 'differs', 'undetermined'] as const
export type VerificationResult = (typeof verificationResults)[number]

const resultMeaning =
  '`has`; `lacks`; `differs`: it has the record, but not as sent; `undetermined`: its answer says nothing about the record'

export const pushVerifications = relation({
  name: 'push_verifications',
  type: 'view',
  holds:
    "Each destination's answer to the last `destination verify`: whether it has a change that it accepted. Unverified changes have no row.",
  key: [],
  columns: {
    account: text('the account', { source: '`changes`' }),
    destination: text('the destination, by its name in the settings', { source: 'settings' }),
    submission_id: orNull(text('the submission', { source: '`changes`' })),
    entity: text('the table', { source: '`changes`' }),
    entity_id: text("the row's key after `account`, as a JSON list", { source: '`changes`' }),
    message_id: text('the id for the receiver, as in `push_status`'),
    verified_at: time('when the receiver was asked'),
    result: text<VerificationResult>(resultMeaning, { source: 'receiver' }),
    repaired_at: orNull(time('when it was queued again because the receiver lacked it')),
  },
  notes: ['Rows are kept for `RETENTION_DAYS`.'],
})

export const syncPushVerifications = internal({
  name: 'sync_push_verifications',
  key: ['destination', 'account', 'message_id'],
  holds: "destinations' answers about changes that they accepted; `push_verifications` shows them",
  columns: {
    ...each(text(), 'destination', 'account', 'message_id', 'entity', 'entity_id'),
    submission_id: orNull(text()),
    verified_at: time(),
    result: text<VerificationResult>(),
    repaired_at: orNull(time()),
  },
})

export const syncDestinations = internal({
  name: 'sync_destinations',
  holds: 'for each destination: state, the newest change that was fanned out to it, snapshot progress; `destination list`',
  columns: {
    destination: text(),
    state: text<DestinationState>(),
    reason: orNull(text()),
    since: orNull(time()),
    cursor: int('the newest change that was fanned out to it'),
    log_epoch: text('the epoch of the change log in which it began, or whose end it had reached when the next one began'),
    retry_at: orNull(time('no attempt before this time; null while suspended: an operator must resume it')),
    failures: int('consecutive attempts without a useful answer'),
    refused_with: orNull(text('salted fingerprint of the rejected settings; `serve` tries other settings when it starts or reloads')),
    snapshot: orNull(raw('progress of a snapshot as JSON text; null when none is in progress')),
    last_success_at: orNull(time('when it last accepted a change, written four times a minute')),
    verified_at: orNull(time('when its last verification, of all accepted changes or of a sample, ended')),
    verified: orNull(raw('the counts of that verification as JSON text')),
    filtered: int('changes outside its `filter`'),
    filtered_from: orNull(int('the newest change that was fanned out before its `filter` began; 0: always filtered; null: no filter')),
    filter_error: orNull(text('why its `filter` fails, and on which change; null while it does not')),
    filter_failed_at: orNull(time('since when its `filter` fails')),
  },
})

export type DestinationsTable = TableOf<typeof syncDestinations>

export const syncOutbox = internal({
  name: 'sync_outbox',
  key: ['outbox_id'],
  holds: 'the rows sent, or to send, to each destination; `push_status` and `outbox list` show them',
  columns: {
    outbox_id: serial(),
    ...each(text(), 'destination', 'account', 'stream', 'entity', 'entity_id', 'operation', 'cause', 'message_id'),
    ...each(orNull(text()), 'submission_id', 'detail', 'error'),
    ...each(int(), 'seq', 'attempts'),
    snapshot: orNull(raw('content of a snapshot row as JSON text: `changed_at`, `after`')),
    state: text<OutboxState>(),
    uncertain: int('1: an attempt began, and its outcome is unknown'),
    queued_at: time(),
    ...each(orNull(time()), 'tried_at', 'settled_at'),
    status: orNull(int()),
    progress: orNull(text('what earlier attempts achieved, as JSON text: the next attempt continues from there; null once delivered')),
    resent: orNull(text<'same' | 'new'>('an operator asked to send it again, under the same id or a new one; null: queued by fan-out')),
    left_filter: orNull(int("1: the record left the destination's `filter` with this change")),
  },
})

export const syncPushStreams = internal({
  name: 'sync_push_streams',
  holds: 'submissions with changes to send, by destination: when they are due, the sender, and what blocks them',
  columns: {
    ...each(text(), 'destination', 'account', 'stream'),
    due_at: time(),
    lease_token: orNull(text()),
    blocked: orNull(text<StreamBlock>()),
    held_by: orNull(int('with `held`: the outbox row that holds the stream')),
  },
})

export const syncRemoteIds = internal({
  name: 'sync_remote_ids',
  holds: "each destination's ids of the records that it accepted",
  columns: { ...each(text(), 'destination', 'account', 'entity', 'entity_id', 'remote_id'), stored_at: time() },
})

export const syncPassed = internal({
  name: 'sync_passed',
  key: ['destination', 'account', 'entity', 'entity_id'],
  holds: 'records inside the `filter` of a destination, now or before, so that it has or had them',
  columns: {
    ...each(text(), 'destination', 'account', 'entity', 'entity_id'),
    is_in: int('1: inside the filter; 0: no longer'),
    seq: int('the change with which it entered or left the filter; 0: it was sent before there was a `filter`'),
    through: int('the newest change that its last full row contained'),
  },
})

export const syncPushTokens = internal({
  name: 'sync_push_tokens',
  key: ['destination'],
  holds:
    'the access and refresh token of destinations that refresh, encrypted by `PROTECT_KEYS`; left out of a copy, and deleted by a restore',
  columns: {
    destination: text(),
    tokens: orNull(text('encrypted; null while a refresh token is being used, and if that failed: the next process logs in again')),
    lease_token: orNull(text()),
    lease_until: orNull(time('until when a process may request the next token')),
  },
})

export const syncRestatements = internal({
  name: 'sync_restatements',
  key: ['destination', 'account', 'submission_id'],
  holds: 'submissions whose current state is sent to a destination after a log divergence',
  columns: { ...each(text(), 'destination', 'account', 'submission_id'), requested_at: time() },
})
