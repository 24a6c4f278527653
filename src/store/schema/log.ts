import { int, internal, json, orNull, relation, type TableOf, text, time } from './table.ts'

/** The change log, its numberings, and the migrations that made the database. */

export const changes = relation({
  name: 'changes',
  type: 'table',
  holds:
    'Every change of every row of service data, in the order in which the mirror learned of it, without gaps. A change ' +
    'commits together with the row that it tells of.',
  key: ['seq'],
  columns: {
    seq: int('1, 2, 3 … over all accounts, without gaps'),
    account: text('whose it is', { source: 'settings' }),
    submission_id: orNull(text('the submission that it is about, if one', { source: 'service' })),
    entity: text('the table'),
    entity_id: text(`the row's key after \`account\`, as a JSON list: \`["<submission_id>","<event_id>"]\``),
    operation: text(
      '`insert`; `update`; `gone` (its `gone_at` was set); `purged` (an operator had it removed: no values). Coming back is an `update`',
    ),
    changed_at: time('when it was stored'),
    cause: text('`webhook`; `poll`; `backfill` (history found by a first reading); `reconcile`; `command`'),
    before: orNull(json('the changed columns as they were; null on insert', { class: 'free' })),
    after: orNull(json('the changed columns as they are; all of them on insert. Neither ever holds `raw`', { class: 'free' })),
  },
  notes: [
    'New events, and new messages, of which the mirror learned at once, as of a page of a feed, stand in the order in which ' +
      'they happened.',
    'A change in `raw` alone is stored in its row and is no change here. Within `before` and `after` values are the same on ' +
      'both databases: times as text in the form of SQLite, booleans as `true` and `false`. What somebody has stored on ' +
      "SQLite in a column that cannot hold it stands in `before` as the text or number that it was, a blob as `x'7a7a'`.",
  ],
})

export const mirrorInfo = relation({
  name: 'mirror_info',
  type: 'table',
  holds: 'One row about the mirror itself.',
  key: ['id'],
  columns: {
    id: int('1'),
    schema_version: int('the newest migration that this database has'),
    log_epoch: text('names this numbering of `changes`; another one after a restore or a failover. See `log_epochs`'),
    first_seq: int('the oldest `seq` still kept; it moves as retention removes older ones'),
    last_seq: int('the newest `seq`'),
  },
  notes: [
    '`first_seq` and `last_seq` are corrected from the rows of `changes` when somebody has changed them: by a reconcile ' +
      'run, which reports it, and by the next start of `serve`; `last_seq` by the next change too, so that no number is given ' +
      'twice. `submission-mirror doctor` tells of it. A `last_seq` set higher, or a `first_seq` set lower, than the rows say ' +
      'cannot be told from rows that were deleted: a run reports what is between as `lost`.',
  ],
})

export const logEpochs = relation({
  name: 'log_epochs',
  type: 'view',
  holds:
    'The numberings of `changes`: one row for each time that the database was put in the place of another one. [queries.md](queries.md' +
    '#how-do-i-go-on-after-a-restore-or-a-failover) says how to go on behind such a break.',
  key: [],
  columns: {
    log_epoch: text('its name; the newest one stands in `mirror_info`'),
    epoch_no: int('1, 2, 3 … in the order in which they began'),
    began_at: time('when it began'),
    after_seq: int('the last `seq` that it has in common with the numbering before it: greater ones are other changes now'),
    known_seq: orNull(int('the greatest `seq` that the lost branch is known to have given; null when nothing is known to be lost')),
    reason: text(
      '`first`; `restore`; `copy` (the file or the tables are a copy); `server` (another Postgres server or timeline: a standby was ' +
        'promoted, or a server restored); `lost` (changes that were committed are missing); `command`',
    ),
    replayed_at: orNull(time('when every submission had been replayed since, so that what was lost is here again; null until then')),
  },
})

export const syncLogEpochs = internal({
  name: 'sync_log_epochs',
  holds: 'the numberings of the change log, and in which server or file each began; `log_epochs` shows them',
  columns: {
    log_epoch: text(),
    after_seq: int('it covers the changes behind this number'),
    began_at: time(),
    origin: text('identifies the database in which it began: with another value the database is a copy'),
    reason: text('why it began; see `EpochReason`'),
    epoch_no: int('1, 2, 3 … in the order in which they began'),
    server: text("the server or file in which it began; '' where it cannot be told. See log-origin.ts"),
    known_seq: orNull(
      int('the newest number that the branch before it is known to have assigned; null when nobody saw more than `after_seq`'),
    ),
    instance: orNull(text('the process that served last, on SQLite; null until one does')),
    replays_at: orNull(time('when replays of all submissions were requested for it; null until then')),
    replayed_at: orNull(time('when all of them had ended; null until then')),
  },
})

export type LogEpochsTable = TableOf<typeof syncLogEpochs>

export const syncMigrations = internal({
  name: 'sync_migrations',
  holds: 'the migrations that were applied',
  columns: {
    version: int(),
    name: text(),
    sha256: text('of its statements; see migrate.ts'),
    oldest_compatible: int(),
    applied_at: time(),
  },
})
