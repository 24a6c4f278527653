import type { Relation } from './relation.ts'

export const changes: Relation = {
  name: 'changes',
  type: 'table',
  holds:
    'Every change of every row of service data, in the order in which the mirror learned of it, without gaps. A change ' +
    'commits together with the row that it tells of.',
  key: ['seq'],
  columns: {
    seq: { kind: 'int', class: 'none', source: 'program', meaning: '1, 2, 3 … over all accounts, without gaps' },
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'whose it is' },
    submission_id: { kind: 'text', class: 'none', source: 'service', meaning: 'the submission that it is about, if one' },
    entity: { kind: 'text', class: 'none', source: 'program', meaning: 'the table' },
    entity_id: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: `the row's key after \`account\`, as a JSON list: \`["<submission_id>","<event_id>"]\``,
    },
    operation: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        '`insert`; `update`; `gone` (its `gone_at` was set); `purged` (an operator had it removed: no values). Coming back is an `update`',
    },
    changed_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was stored' },
    cause: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: '`webhook`; `poll`; `backfill` (history found by a first reading); `reconcile`; `command`',
    },
    before: { kind: 'json', class: 'free', source: 'program', meaning: 'the changed columns as they were; null on insert' },
    after: {
      kind: 'json',
      class: 'free',
      source: 'program',
      meaning: 'the changed columns as they are; all of them on insert. Neither ever holds `raw`',
    },
  },
  notes: [
    'New events, and new messages, of which the mirror learned at once, as of a page of a feed, stand in the order in which ' +
      'they happened.',
    'A change in `raw` alone is stored in its row and is no change here. Within `before` and `after` values are the same on ' +
      'both databases: times as text in the form of SQLite, booleans as `true` and `false`. What somebody has stored on ' +
      "SQLite in a column that cannot hold it stands in `before` as the text or number that it was, a blob as `x'7a7a'`.",
  ],
}

export const mirrorInfo: Relation = {
  name: 'mirror_info',
  type: 'table',
  holds: 'One row about the mirror itself.',
  key: ['id'],
  columns: {
    id: { kind: 'int', class: 'none', source: 'program', meaning: '1' },
    schema_version: { kind: 'int', class: 'none', source: 'program', meaning: 'the newest migration that this database has' },
    log_epoch: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: 'names this numbering of `changes`; another one after a restore or a failover. See `log_epochs`',
    },
    first_seq: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'the oldest `seq` still kept; it moves as retention removes older ones',
    },
    last_seq: { kind: 'int', class: 'none', source: 'program', meaning: 'the newest `seq`' },
  },
  notes: [
    '`first_seq` and `last_seq` are corrected from the rows of `changes` when somebody has changed them: by a reconcile ' +
      'run, which reports it, and by the next start of `serve`; `last_seq` by the next change too, so that no number is given ' +
      'twice. `submission-mirror doctor` tells of it. A `last_seq` set higher, or a `first_seq` set lower, than the rows say ' +
      'cannot be told from rows that were deleted: a run reports what is between as `lost`.',
  ],
}

export const logEpochs: Relation = {
  name: 'log_epochs',
  type: 'view',
  holds:
    'The numberings of `changes`: one row for each time that the database was put in the place of another one. [queries.md](queries.md' +
    '#how-do-i-go-on-after-a-restore-or-a-failover) says how to go on behind such a break.',
  key: [],
  columns: {
    log_epoch: { kind: 'text', class: 'none', source: 'program', meaning: 'its name; the newest one stands in `mirror_info`' },
    epoch_no: { kind: 'int', class: 'none', source: 'program', meaning: '1, 2, 3 … in the order in which they began' },
    began_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it began' },
    after_seq: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'the last `seq` that it has in common with the numbering before it: greater ones are other changes now',
    },
    known_seq: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'the greatest `seq` that the lost branch is known to have given; null when nothing is known to be lost',
    },
    reason: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        '`first`; `restore`; `copy` (the file or the tables are a copy); `server` (another Postgres server or timeline: a standby was ' +
        'promoted, or a server restored); `lost` (changes that were committed are missing); `command`',
    },
    replayed_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: 'when every submission had been replayed since, so that what was lost is here again; null until then',
    },
  },
}
