import type { Relation } from './relation.ts'

export const pushMap: Relation = {
  name: 'push_map',
  type: 'table',
  holds:
    'Which client or policy of an agency-management system a submission belongs to, as somebody said (`destination map`, or ' +
    'a row written here) or the system was asked. Never a match by name.',
  key: ['destination', 'account', 'submission_id'],
  columns: {
    destination: { kind: 'text', class: 'none', source: 'settings', meaning: 'the receiver of changes, by its name in the settings' },
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'whose it is' },
    submission_id: { kind: 'text', class: 'none', source: 'service', meaning: 'the submission' },
    client: {
      kind: 'text',
      class: 'business',
      source: 'operator, AMS',
      meaning: "the client's id in that system; a row in which it is blank counts as none",
    },
    policy: { kind: 'text', class: 'business', source: 'operator, AMS', meaning: "the policy's id there, when there is one" },
    fields: {
      kind: 'json',
      class: 'free',
      source: 'operator, AMS',
      meaning: "whatever else the destination's templates need, names to texts; anything but an object is refused",
    },
    mapped_at: { kind: 'time', class: 'none', source: 'program, else the database', meaning: 'when it was stored' },
    mapped_via: {
      kind: 'text',
      class: 'none',
      source: 'program, else the database',
      meaning: '`import`, `admin`, `lookup` (the system was asked), or `sql` (written by hand)',
    },
  },
  notes: [
    'A destination that needs a row here keeps the changes of a submission that has none until it has one. The table may be ' +
      'written by hand, while the program runs: `queries.md` has the statement. `destination`, `account`, `submission_id` (as ' +
      '`submissions` has it) and `client` are needed, the rest may be left out. What waited goes out within ten seconds or ' +
      'so.',
  ],
}

export const pushStatus: Relation = {
  name: 'push_status',
  type: 'view',
  holds:
    'Which change reached which destination when, or why not: one row for each change (or row of a snapshot) and each ' +
    'destination that gets it.',
  key: [],
  columns: {
    destination: { kind: 'text', class: 'none', source: 'settings', meaning: 'the receiver, by its name in the settings' },
    destination_state: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        '`active`; `paused` by an operator; `parked` (its credential was withdrawn); `disabled` (it said that it is gone). Only ' +
        "an operator's `resume` ends the last three",
    },
    account: { kind: 'text', class: 'none', source: '`changes`', meaning: 'whose it is' },
    submission_id: { kind: 'text', class: 'none', source: '`changes`', meaning: 'its submission' },
    entity: { kind: 'text', class: 'none', source: '`changes`', meaning: 'the table' },
    entity_id: { kind: 'text', class: 'none', source: '`changes`', meaning: "the row's key after `account`, as a JSON list" },
    operation: { kind: 'text', class: 'none', source: '`changes`', meaning: '`insert` for a row of a snapshot' },
    seq: {
      kind: 'int',
      class: 'none',
      source: '`changes`',
      meaning: 'the change; for a row of a snapshot the newest change that it contains',
    },
    message_id: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: 'the id that the receiver sees (`webhook-id`), the same on every try',
    },
    state: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: '`waiting`, `retrying`, `unmapped`, `held`, `delivered`, `dead`, `unknown`, `skipped`: see below',
    },
    is_open: {
      kind: 'bool',
      class: 'none',
      source: 'program',
      meaning: 'whether it has not reached the receiver and may still: every `state` but `delivered` and `skipped`. Found by an index',
    },
    attempts: { kind: 'int', class: 'none', source: 'program', meaning: 'tries that have ended' },
    queued_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it came into the outbox' },
    tried_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when the last try ended' },
    next_try_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: "when it is its submission's turn again; null when it is not waiting for a time",
    },
    delivered_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when the receiver took it' },
    status: { kind: 'int', class: 'none', source: 'receiver', meaning: 'status code of the last answer, when there was one' },
    error: { kind: 'text', class: 'free', source: 'receiver, program', meaning: 'what went wrong last, or why it was not sent' },
    remote_id: { kind: 'text', class: 'none', source: 'receiver', meaning: 'what the receiver calls the record' },
  },
  notes: [
    "What a destination's filters leave out has no row. Sent rows stay as long as `RETENTION_DAYS` says.",
    '`state`: `waiting`: not tried yet. `retrying`. `unmapped`: its submission has no row in `push_map`. `held`: it waits ' +
      'behind a change that was given up. `delivered`. `dead`: given up. `unknown`: it may have been sent, nobody knows ' +
      'whether it arrived, somebody has to look. `skipped`: by an operator, or because the receiver could not be told it, or ' +
      'has it already (`error` says why).',
  ],
}
