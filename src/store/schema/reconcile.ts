import type { Json } from '../../model/json.ts'
import type { ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import { bool, each, int, internal, json, orNull, relation, type TableOf, text, time } from './table.ts'

/**
 * State of a run.
 * - `requested`: waits for a process
 * - `running`: in progress, or interrupted and to be resumed
 * - `done`: complete
 * - `budget`: ended early, because its time ran out
 * - `failed`: ended early, because it couldn't continue
 * - `stopped`: an operator stopped it, or it wasn't started because of another run
 */
export type RunState = 'requested' | 'running' | 'done' | 'budget' | 'failed' | 'stopped'

/** Options of a run, stored as JSON in `reconcile_runs.options`. A missing option doesn't restrict the run. */
export type RunOptions = {
  /** Only these submissions. */
  readonly submissions?: readonly string[]
  /** Only submissions with activity at or after this time. */
  readonly since?: TimeText
  /** Only submissions with activity in the last 90 days. */
  readonly active_only?: boolean
  /** Only compares. Corrects nothing, and the submissions don't count as visited. */
  readonly dry_run?: boolean
  /** Reads only the feeds, not the state. */
  readonly no_state?: boolean
  /** Number of reads at the same time. If undefined, the number in the settings. */
  readonly concurrency?: number
}

export const findingKinds = ['missing', 'different', 'absent', 'unreadable', 'undelivered', 'lost', 'moved'] as const
export type FindingKind = (typeof findingKinds)[number]

/** A column whose values differ, with the mirror's value and the service's value. */
export type FieldDifference = { readonly field: string; readonly mirror: Json; readonly service: Json }

export const reconcileRuns = relation({
  name: 'reconcile_runs',
  type: 'table',
  holds: 'One row for each reconcile run of an account: its options, progress and results.',
  key: ['run_id'],
  columns: {
    run_id: text('its id'),
    account: text('the reconciled account', { source: 'settings' }),
    slot: orNull(time('its time in `RECONCILE_CRON`; null if an operator requested it, and when it repeats a failed run')),
    requested_by: text('`command`, `cron`, or `admin:` and the name of the token'),
    options: json<RunOptions>(
      'its limits: `submissions`, `since`, `active_only`, `dry_run`, `no_state`, `concurrency`; empty for everything. A dry run reconciles ' +
        'nothing, and starts over when it is resumed',
      { source: 'operator' },
    ),
    state: text<RunState>(
      '`requested`: it waits for a process; `running`, also if its process died, until another resumes it; `done`; `budget`: its time ended ' +
        'first; `failed`; `stopped`: by an operator, or never begun, or its account left the settings',
    ),
    requested_at: time('when it was requested'),
    started_at: orNull(time('null while it waits')),
    updated_at: time('its last sign of life'),
    ended_at: orNull(time('when it ended')),
    submissions_total: int('submissions to check'),
    submissions_done: int('submissions checked, including unreadable ones, which are findings'),
    rows_compared: int('compared events, messages, attachments and rows of the state'),
    missing: int('rows of the service that the mirror lacked'),
    different: int('rows that differed'),
    absent: int('rows that the service no longer shows, not marked before'),
    unreadable: int('failed reads and unreadable items, which were not checked'),
    undelivered: int('changes not known to have reached a destination, not reported before except by dry runs'),
    repaired: int('findings that were fixed, or marked'),
    known: int('findings from before this run; no other count includes them'),
    lost: int('gaps in the change log, not reported before except by dry runs'),
    moved: int('rows that the service changed after they were last read: see below'),
    exit_code: orNull(
      int(
        'exit code of the command: 0 nothing left; 1 something could not be checked; 3 differences left; 4 the budget ended, or another run ' +
          'was active',
      ),
    ),
    note: orNull(text('how it ended, in words, if there is something to say')),
  },
})

export type ReconcileRunsTable = TableOf<typeof reconcileRuns>

export const reconcileFindings = relation({
  name: 'reconcile_findings',
  type: 'table',
  holds: 'The findings of reconcile runs, one row for each.',
  key: ['run_id', 'finding_no'],
  columns: {
    run_id: text('the run'),
    finding_no: int('the order in which they were found; numbers may be skipped'),
    account: text('the account of the run', { source: 'settings' }),
    submission_id: orNull(text('null if it concerns a whole destination or the change log', { source: 'service' })),
    kind: text<FindingKind>('`missing`, `different`, `absent`, `unreadable`, `undelivered`, `lost`, `moved`: see below'),
    entity: orNull(text('the table; null if a read failed')),
    entity_id: orNull(text('the row, as in `changes`; for `lost` the first and last missing number: `[41,43]`')),
    fields: orNull(
      json<readonly FieldDifference[]>('the differences: a list of `field`, `mirror` (the value here) and `service` (the right value)', {
        source: 'mirror, service',
        class: 'free',
      }),
    ),
    read: orNull(text<ReadKind>('the read that found it: `events`, `thread`, or a state read')),
    destination: orNull(text('the destination that was not reached', { source: 'settings' })),
    seq: orNull(int('the undelivered change, or the last missing one', { source: '`changes`' })),
    known: bool('it was known before this run and still exists: see below'),
    repaired_at: orNull(time('when it was fixed or marked; null if it was left')),
    detail: text('a sentence for people', { class: 'free' }),
    found_at: time('when it was found'),
  },
  notes: [
    'Rows are kept for at least `CHANGES_RETENTION_DAYS` and until a later run has checked all submissions; the row of the run stays.',
    '`kind`: `missing`: the service shows it, and the mirror lacked it. `different`: the mirror and the service differ, or `mirror_info` and the ' +
      'rows of `changes`. `absent`: the mirror has it, and the service no longer shows it, or cannot have it (a submission whose id is not a ' +
      'lowercase uuid is never requested, compared or marked; delete its rows by hand). `unreadable`: it could not be checked. `undelivered`: a ' +
      'change not known to have reached a destination. `lost`: numbers between `mirror_info.first_seq` and `last_seq` without a row in ' +
      '`changes`. `moved`: the service changed it after the mirror last read it, as live traffic does, and the mirror agreed with its change ' +
      'log. Such a row needs no attention and is not in `repaired`.',
    '`known`: already marked as absent (a submission, event, message or attachment), or reported by an earlier run that was not a dry run ' +
      'as undelivered, as a submission that the service cannot have, or as lost (by a run of any account, because all share the log), or a part ' +
      'of the requirements view that the service left out, such as a null rail, so that its rows in `entity` are unconfirmed. Rows that the ' +
      'state no longer shows, such as a replaced quote, are history and are not reported again.',
  ],
})

export type ReconcileFindingsTable = TableOf<typeof reconcileFindings>

export const syncReconcile = internal({
  name: 'sync_reconcile',
  holds: 'the run in progress of each account, and the lease of its process',
  columns: {
    account: text(),
    ...each(orNull(text()), 'run_id', 'lease_token'),
    lease_until: orNull(time()),
    since: time('since when the schedule applies to the account; missed earlier times are not made up'),
  },
})

export const syncReconciled = internal({
  name: 'sync_reconciled',
  holds: 'for each submission: the last visit of a reconcile run (not a dry run), and the run that last reconciled it',
  columns: {
    ...each(text(), 'account', 'submission_id'),
    run_id: text('the run that reconciled it; if none has, the last that visited it'),
    visited_at: time('when a run last visited it'),
    reconciled_at: orNull(time('when it last equaled the service, or was repaired; null: never')),
    unconfirmed: orNull(text('parts of the requirements view that the service left out then, although the mirror has rows of them')),
  },
})
