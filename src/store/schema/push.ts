import { bool, int, internal, json, orNull, raw, relation, serial, type TableOf, text, time } from './table.ts'

/** Destinations, the rows queued for them, and the ids that targets gave to records. */

/** `paused`: by a person. `suspended`: automatically, because its endpoint refuses everything. */
export type DestinationState = 'active' | 'paused' | 'suspended'

export type OutboxState = 'ready' | 'delivered' | 'dead' | 'unknown' | 'skipped'

/** Why a lane is blocked until somebody acts: its submission has no client, or a dead row holds it (`on_dead: hold`). */
export type LaneBlock = 'unmapped' | 'held'

export const pushMap = relation({
  name: 'push_map',
  type: 'table',
  holds:
    'Which client or policy of an agency-management system a submission belongs to, as somebody said (`destination map`, or ' +
    'a row written here) or the system was asked. Never a match by name.',
  key: ['destination', 'account', 'submission_id'],
  columns: {
    destination: text('the receiver of changes, by its name in the settings', { source: 'settings' }),
    account: text('whose it is', { source: 'settings' }),
    submission_id: text('the submission', { source: 'service' }),
    client: text("the client's id in that system; a row in which it is blank counts as none", {
      source: 'operator, AMS',
      class: 'business',
    }),
    policy: orNull(text("the policy's id there, when there is one", { source: 'operator, AMS', class: 'business' })),
    fields: orNull(
      json("whatever else the destination's templates need, names to texts; anything but an object is refused", {
        source: 'operator, AMS',
        class: 'free',
      }),
    ),
    mapped_at: time('when it was stored, or changed last', { source: 'program, else the database' }),
    mapped_via: text('`import`, `admin`, `lookup` (the system was asked), or `sql` (written by hand)', {
      source: 'program, else the database',
    }),
  },
  notes: [
    'A destination that needs a row here keeps the changes of a submission that has none until it has one. The table may be ' +
      'written by hand, while the program runs: `queries.md` has the statement. `destination`, `account`, `submission_id` (as ' +
      '`submissions` has it) and `client` are needed, the rest may be left out. What waited goes out within ten seconds or ' +
      'so.',
  ],
})

export type PushMapTable = TableOf<typeof pushMap>

export const pushStatus = relation({
  name: 'push_status',
  type: 'view',
  holds:
    'Which change reached which destination when, or why not: one row for each change (or row of a snapshot) and each ' +
    'destination that gets it.',
  key: [],
  columns: {
    destination: text('the receiver, by its name in the settings', { source: 'settings' }),
    destination_state: text<DestinationState>(
      '`active`; `paused` by an operator; `suspended` automatically, because its endpoint or its credentials are refused: one change ' +
        'at a time tries it again, after a 410 only once an operator resumes it',
    ),
    account: text('whose it is', { source: '`changes`' }),
    submission_id: orNull(text('its submission', { source: '`changes`' })),
    entity: text('the table', { source: '`changes`' }),
    entity_id: text("the row's key after `account`, as a JSON list", { source: '`changes`' }),
    operation: text('`insert` for a row of a snapshot', { source: '`changes`' }),
    seq: int('the change; for a row of a snapshot the newest change that it contains', { source: '`changes`' }),
    message_id: text('the id that the receiver sees (`webhook-id`), the same on every try'),
    state: text<'waiting' | 'retrying' | LaneBlock | Exclude<OutboxState, 'ready'>>(
      '`waiting`, `retrying`, `unmapped`, `held`, `delivered`, `dead`, `unknown`, `skipped`: see below',
    ),
    is_open: bool('whether it has not reached the receiver and may still: every `state` but `delivered` and `skipped`. Found by an index'),
    attempts: int('tries that have ended'),
    queued_at: time('when it came into the outbox'),
    tried_at: orNull(time('when the last try ended')),
    next_try_at: orNull(time("when it is its submission's turn again; null when it is not waiting for a time")),
    delivered_at: orNull(time('when the receiver took it')),
    status: orNull(int('status code of the last answer, when there was one', { source: 'receiver' })),
    error: orNull(text('what went wrong last, or why it was not sent', { source: 'receiver, program', class: 'free' })),
    remote_id: orNull(text('what the receiver calls the record', { source: 'receiver' })),
  },
  notes: [
    "What a destination's filters leave out has no row. Sent rows stay as long as `RETENTION_DAYS` says.",
    '`state`: `waiting`: not tried yet. `retrying`. `unmapped`: its submission has no row in `push_map`. `held`: it waits ' +
      'behind a change that was given up. `delivered`. `dead`: given up. `unknown`: it may have been sent, nobody knows ' +
      'whether it arrived, somebody has to look. `skipped`: by an operator, or because the receiver could not be told it, or ' +
      'has it already (`error` says why).',
  ],
})

export type PushStatusView = TableOf<typeof pushStatus>

/** What a target answered when it was asked for a change that it had taken. */
export const verificationResults = ['has', 'lacks', 'differs', 'cannot_tell'] as const
export type VerificationResult = (typeof verificationResults)[number]

const resultMeaning = '`has`; `lacks`; `differs`: it has the record, but not as it was sent; `cannot_tell`: it gave no answer that tells'

export const pushVerifications = relation({
  name: 'push_verifications',
  type: 'view',
  holds:
    'What each destination answered when it was last asked whether it has a change that it took (`destination verify`). A change that ' +
    'nobody asked for has no row.',
  key: [],
  columns: {
    account: text('whose it is', { source: '`changes`' }),
    destination: text('the receiver, by its name in the settings', { source: 'settings' }),
    submission_id: orNull(text('its submission', { source: '`changes`' })),
    entity: text('the table', { source: '`changes`' }),
    entity_id: text("the row's key after `account`, as a JSON list", { source: '`changes`' }),
    message_id: text('the id that the receiver sees, as in `push_status`'),
    verified_at: time('when the receiver was asked'),
    result: text<VerificationResult>(resultMeaning, { source: 'receiver' }),
    repaired_at: orNull(time('when it was queued once more because the receiver lacked it')),
  },
  notes: ['Rows stay as long as `RETENTION_DAYS` says.'],
})

export const syncPushVerifications = internal({
  name: 'sync_push_verifications',
  key: ['destination', 'account', 'message_id'],
  holds: 'what targets answered when they were asked for what they took; `push_verifications` shows it',
  columns: {
    destination: text(),
    account: text(),
    message_id: text(),
    submission_id: orNull(text()),
    entity: text(),
    entity_id: text(),
    verified_at: time(),
    result: text<VerificationResult>(),
    repaired_at: orNull(time()),
  },
})

export const syncDestinations = internal({
  name: 'sync_destinations',
  holds: 'for each destination: state, the newest change that was fanned out to it, how far a snapshot has come; `destination list`',
  columns: {
    destination: text(),
    state: text<DestinationState>(),
    reason: orNull(text()),
    since: orNull(time()),
    cursor: int('the newest change that was fanned out to it'),
    log_epoch: text('the epoch of the change log in which it began, or whose end it had reached when the next one began'),
    retry_at: orNull(time('no attempt before this time; null while suspended: an operator must resume it')),
    failures: int('consecutive attempts that got no useful answer'),
    refused_with: orNull(
      text('salted fingerprint of the settings that were refused: other settings are tried when `serve` starts or reloads'),
    ),
    snapshot: orNull(raw('progress of a snapshot as JSON text; null when none is in progress')),
    last_success_at: orNull(time('when it took a change last, written four times a minute')),
    verified_at: orNull(time('when its last verification ended, of all that it took or of a sample')),
    verified: orNull(raw('the counts of that verification as JSON text')),
    filtered: int('changes that its `filter` left out'),
    filtered_from: orNull(int('the newest change that was fanned out before its `filter` began; 0: it began with one; null: it has none')),
    filter_error: orNull(text('why its `filter` fails, and on which change; null while it does not')),
    filter_failed_at: orNull(time('since when its `filter` fails')),
  },
})

export type DestinationsTable = TableOf<typeof syncDestinations>

export const syncOutbox = internal({
  name: 'sync_outbox',
  key: ['outbox_id'],
  holds: 'what goes, or went, to each destination, row by row; `push_status` shows it, and `outbox list`',
  columns: {
    outbox_id: serial(),
    destination: text(),
    account: text(),
    lane: text(),
    submission_id: orNull(text()),
    entity: text(),
    entity_id: text(),
    operation: text(),
    cause: text(),
    seq: int(),
    snapshot: orNull(raw('content of a snapshot row as JSON text: `changed_at`, `after`')),
    message_id: text(),
    state: text<OutboxState>(),
    attempts: int(),
    uncertain: int('1: an attempt began, and its outcome is unknown'),
    queued_at: time(),
    tried_at: orNull(time()),
    status: orNull(int()),
    detail: orNull(text()),
    error: orNull(text()),
    progress: orNull(text('what earlier attempts achieved, as JSON text: the next attempt continues from there; null once delivered')),
    settled_at: orNull(time()),
    resent: orNull(
      text<'same' | 'new'>('sent again because an operator asked for it, under the same id or a new one; null for what fan-out queued'),
    ),
    left_filter: orNull(int('1: the record ceased to pass the `filter` of the destination with this')),
  },
})

export type OutboxTable = TableOf<typeof syncOutbox>

export const syncPushLanes = internal({
  name: 'sync_push_lanes',
  holds: 'submissions that have something to send, by destination: when they are due, who is sending, what blocks them',
  columns: {
    destination: text(),
    account: text(),
    lane: text(),
    due_at: time(),
    lease_token: orNull(text()),
    blocked: orNull(text<LaneBlock>()),
    held_by: orNull(int('with `held`: the outbox row that holds the lane')),
  },
})

export const syncRemoteIds = internal({
  name: 'sync_remote_ids',
  holds: 'what each destination calls the records that it took',
  columns: {
    destination: text(),
    account: text(),
    entity: text(),
    entity_id: text(),
    remote_id: text(),
    stored_at: time(),
  },
})

export const syncPassed = internal({
  name: 'sync_passed',
  key: ['destination', 'account', 'entity', 'entity_id'],
  holds: 'records that have passed the `filter` of a destination, so that it has them, or had them until they ceased to pass',
  columns: {
    destination: text(),
    account: text(),
    entity: text(),
    entity_id: text(),
    is_in: int('1: it passes; 0: it has ceased to'),
    seq: int('the change with which it began, or ceased, to pass; 0: it was sent before there was a `filter`'),
    through: int('the newest change that is contained in what was sent of it as a whole row'),
  },
})

export const syncPushTokens = internal({
  name: 'sync_push_tokens',
  key: ['destination'],
  holds:
    'the access and refresh token of destinations that refresh, encrypted by `PROTECT_KEYS`; left out of a copy, and deleted by a restore',
  columns: {
    destination: text(),
    tokens: orNull(text('encrypted; null while a refresh token is being spent, and after that failed: the next process logs in anew')),
    lease_token: orNull(text()),
    lease_until: orNull(time('until when a process may request the next token')),
  },
})

export const syncRestatements = internal({
  name: 'sync_restatements',
  key: ['destination', 'account', 'submission_id'],
  holds: 'submissions whose present state a destination is sent after a branch of the change log was lost',
  columns: {
    destination: text(),
    account: text(),
    submission_id: text(),
    requested_at: time(),
  },
})
