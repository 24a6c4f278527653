import { each, int, internal, json, orNull, relation, type TableOf, text, time } from './table.ts'

export const changes = relation({
  name: 'changes',
  type: 'table',
  holds:
    'Every change of every row of service data, in the order in which the mirror stored it, without gaps. It commits together with its row.',
  key: ['seq'],
  columns: {
    seq: int('1, 2, 3 … over all accounts, without gaps'),
    account: text('the account', { source: 'settings' }),
    submission_id: orNull(text('the submission, if any', { source: 'service' })),
    entity: text('the table'),
    entity_id: text(`the row's key after \`account\`, as a JSON list: \`["<submission_id>","<event_id>"]\``),
    operation: text(
      '`insert`; `update`, also when a row comes back; `gone` (its `gone_at` was set); `purged` (removed by an operator: no values)',
    ),
    changed_at: time('when it was stored'),
    cause: text('`webhook`; `poll`; `backfill` (events and messages found by a first read); `reconcile`; `command`'),
    before: orNull(json('the old values of the changed columns, never `raw`; null on insert', { class: 'free' })),
    after: orNull(json('the new values of the changed columns, never `raw`; all columns on insert', { class: 'free' })),
  },
  notes: [
    'New events, and new messages, that the mirror learned of together, such as from a page of a feed, are in the order in which they happened.',
    'A change of `raw` only is stored in its row but is not logged here. Values in `before` and `after` are the same on both databases: times ' +
      'as text in the form of SQLite, booleans as `true` and `false`.',
  ],
})

export const mirrorInfo = relation({
  name: 'mirror_info',
  type: 'table',
  holds: 'One row about the mirror itself.',
  key: ['id'],
  columns: {
    id: int('1'),
    schema_version: int('the newest migration of this database'),
    log_epoch: text('names this numbering of `changes`; a restore or failover begins another one. See `log_epochs`'),
    first_seq: int('the oldest `seq` still stored; grows as retention removes older ones'),
    last_seq: int('the newest `seq`'),
  },
  notes: [
    'If someone edits `first_seq` or `last_seq`, they are corrected from the rows of `changes`: by a reconcile run, which reports it, and by the ' +
      'next start of `serve`; `last_seq` also by the next change, so that no number is used twice. `submission-mirror doctor` reports it. If ' +
      '`last_seq` is higher, or `first_seq` lower, than in the rows, the missing rows may have been deleted: a run reports them as `lost`.',
  ],
})

export const logEpochs = relation({
  name: 'log_epochs',
  type: 'view',
  holds:
    'The numberings of `changes`: one row for each time that another database replaced the mirror. [Follow the change log](follow-changes.md' +
    '#continue-after-a-restore-or-failover) says how readers continue.',
  key: [],
  columns: {
    log_epoch: text('its name; `mirror_info` has the newest one'),
    epoch_no: int('1, 2, 3 … in the order in which they began'),
    began_at: time('when it began'),
    after_seq: int('the last `seq` that it shares with the previous numbering; greater ones are different changes now'),
    known_seq: orNull(int('the greatest `seq` that the lost log is known to have assigned; null if nothing is known to be lost')),
    reason: text(
      '`first`; `restore`; `copy` (the file or the tables are a copy); `server` (another Postgres server or timeline: a standby was promoted, ' +
        'or a server restored); `lost` (committed changes are missing); `command`',
    ),
    fully_read_at: orNull(time('when every submission had been re-read, so that lost data is back; null until then')),
  },
})

export const syncLogEpochs = internal({
  name: 'sync_log_epochs',
  holds: 'the numberings of the change log, and the server or file in which each began; `log_epochs` shows them',
  columns: {
    log_epoch: text(),
    after_seq: int('the last change before it'),
    began_at: time(),
    origin: text('identifies the database in which it began; with another value the database is a copy'),
    reason: text('why it began; see `EpochReason`'),
    epoch_no: int('1, 2, 3 … in the order in which they began'),
    server: text("the server or file in which it began; '' if unknown. See log-origin.ts"),
    known_seq: orNull(int('the newest number known from the log before it; null if none above `after_seq` is known')),
    instance: orNull(text('the process that served last, on SQLite; null until one does')),
    full_reads_at: orNull(time('when full re-reads of all submissions were requested for it; null until then')),
    fully_read_at: orNull(time('when all of them had ended; null until then')),
  },
})

export type LogEpochsTable = TableOf<typeof syncLogEpochs>

export const syncMigrations = internal({
  name: 'sync_migrations',
  holds: 'the applied migrations',
  columns: {
    ...each(int(), 'version', 'oldest_compatible'),
    name: text(),
    sha256: text('of its statements; see migrate.ts'),
    applied_at: time(),
  },
})
