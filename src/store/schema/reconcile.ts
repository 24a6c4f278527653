import type { Json } from '../../model/json.ts'
import type { ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import { bool, int, internal, json, orNull, relation, type TableOf, text, time } from './table.ts'

/** Reconcile runs, what they found, and what they proved. */

/**
 * `requested`: waits for a process. `running`: in progress, or its process died and it will be resumed. `budget`: its time ended first.
 * `failed`: it could not go on. `stopped`: somebody stopped it, or it never began because another ran at its time.
 */
export type RunState = 'requested' | 'running' | 'done' | 'budget' | 'failed' | 'stopped'

/** Options of a run; those left out do not limit it. JSON in `reconcile_runs.options`. */
export type RunOptions = {
  /** Only these submissions. */
  readonly submissions?: readonly string[]
  /** Only submissions in which something moved at or after this time. */
  readonly since?: TimeText
  /** Only submissions that are not dormant: something moved in the last 90 days. */
  readonly active_only?: boolean
  /** Repairs and marks nothing. */
  readonly dry_run?: boolean
  /** Only the feeds, without the state. */
  readonly no_state?: boolean
  /** Concurrent reads; the setting when left out. */
  readonly concurrency?: number
}

export const findingKinds = ['missing', 'different', 'absent', 'unreadable', 'undelivered', 'lost', 'moved'] as const
export type FindingKind = (typeof findingKinds)[number]

/** A differing column: the mirror's value and the service's. */
export type FieldDifference = { readonly field: string; readonly mirror: Json; readonly service: Json }

export const reconcileRuns = relation({
  name: 'reconcile_runs',
  type: 'table',
  holds: 'One row for each reconcile run: what it was asked, how far it came, what it found. One run is about one account.',
  key: ['run_id'],
  columns: {
    run_id: text('its id'),
    account: text('the account that was reconciled', { source: 'settings' }),
    slot: orNull(
      time(
        'the time of `RECONCILE_CRON` that it is the run of; null when somebody asked for it, and when it was made again ' +
          'because the one before had failed',
      ),
    ),
    requested_by: text('`command`, `cron`, or `admin:` and the name of the token'),
    options: json<RunOptions>(
      'what it was limited to: `submissions`, `since`, `active_only`, `dry_run`, `no_state`, `concurrency`; empty for all of ' +
        'it. A dry run proves nothing, and one that is taken up again begins anew',
      { source: 'operator' },
    ),
    state: text<RunState>(
      '`requested`: it waits for a process; `running`, also when its process died, until another takes it up; `done`; ' +
        '`budget`: its time ended first; `failed`; `stopped`: by somebody, or never begun, or left when its account was taken ' +
        'out of the settings',
    ),
    requested_at: time('when it was asked for'),
    started_at: orNull(time('null while it waits')),
    updated_at: time('its last sign of life'),
    ended_at: orNull(time('when it ended')),
    submissions_total: int('how many submissions it was to check'),
    submissions_done: int('how many it has looked at; those it could not read are among them, and are findings'),
    rows_compared: int('events, messages, attachments and rows of the state that the service showed and that were compared'),
    missing: int('rows that the service shows and the mirror did not have'),
    different: int('rows that differed'),
    absent: int('rows that the service no longer shows, not marked before'),
    unreadable: int('reads that failed, and items that could not be read: what was not checked'),
    undelivered: int('changes that are not known to have reached a destination, not reported before but by dry runs'),
    repaired: int('findings that were put right, or marked'),
    known: int('findings that stood before this run; they are in none of the other counts'),
    lost: int('holes of the change log, not reported before but by dry runs'),
    moved: int('rows that the service changed after they were last read: see below'),
    exit_code: orNull(
      int(
        'what the command ended with: 0 nothing is left; 1 something could not be checked; 3 something was found and left; 4 ' +
          'the budget ended, or it was not done',
      ),
    ),
    note: orNull(text('in words how it ended, when there is something to say')),
  },
})

export type ReconcileRunsTable = TableOf<typeof reconcileRuns>

export const reconcileFindings = relation({
  name: 'reconcile_findings',
  type: 'table',
  holds: 'What the reconcile runs found, a row for each.',
  key: ['run_id', 'finding_no'],
  columns: {
    run_id: text('the run'),
    finding_no: int('the order in which they were found; numbers may be left out'),
    account: text('the account of the run', { source: 'settings' }),
    submission_id: orNull(text('null when it is about a destination as a whole, or about the change log', { source: 'service' })),
    kind: text<FindingKind>('`missing`, `different`, `absent`, `unreadable`, `undelivered`, `lost`, `moved`: see below'),
    entity: orNull(text('the table it is about; null when a read failed')),
    entity_id: orNull(text('the row, as in `changes`; of `lost` the first and the last number that is missing: `[41,43]`')),
    fields: orNull(
      json<readonly FieldDifference[]>(
        'of what differed a list of `field`, `mirror` (the value that was here) and `service` (the value that is right)',
        { source: 'mirror, service', class: 'free' },
      ),
    ),
    read: orNull(text<ReadKind>('the read by which it was found: `events`, `thread`, or a state read')),
    destination: orNull(text('the destination that was not reached', { source: 'settings' })),
    seq: orNull(int('the change that was not delivered, or the last one that is missing', { source: '`changes`' })),
    standing: bool('it was known before this run and is still so: see below'),
    repaired_at: orNull(time('when it was put right, or marked; null when it was left')),
    detail: text('a sentence for people', { class: 'free' }),
    found_at: time('when it was found'),
  },
  notes: [
    'Rows are kept for `CHANGES_RETENTION_DAYS` at least and until a later run has looked at all submissions; the row of ' +
      'the run stays.',
    '`kind`: `missing`: the service shows it, the mirror did not have it. `different`: the mirror says something else than ' +
      'the service, or `mirror_info` than the rows of `changes`. `absent`: the mirror has it, the service no longer shows it, ' +
      'or cannot have it (a submission whose id is no uuid in lower case: nothing of it is asked for, compared or marked, and ' +
      'its rows are to be deleted by hand). `unreadable`: it could not be checked. `undelivered`: a change that is not known ' +
      'to have reached a destination. `lost`: numbers between `mirror_info.first_seq` and `last_seq` of which `changes` has ' +
      'no row. `moved`: the service changed it after the mirror last read it, as live traffic does, and the mirror held what ' +
      'its change log says. Such a row needs no attention and is not in `repaired`.',
    '`standing`: marked as absent already (a submission, an event, a message or an attachment), or reported by an earlier ' +
      'run, other than a dry one, as undelivered, as a submission that the service cannot have, or as lost (by a run of any ' +
      'account: the log is that of all), or a part of the requirements view that the service left out, such as a null rail: ' +
      'nothing confirms its rows in `entity`. What the state no longer shows, such as a quote that was replaced, is history, and ' +
      'is not told of again.',
  ],
})

export type ReconcileFindingsTable = TableOf<typeof reconcileFindings>

export const syncReconcile = internal({
  name: 'sync_reconcile',
  holds: 'for each account the run in progress, and which process has it until when',
  columns: {
    account: text(),
    run_id: orNull(text()),
    lease_token: orNull(text()),
    lease_until: orNull(time()),
    since: time('since when the schedule holds for the account. Earlier times are not made up for'),
  },
})

export const syncProofs = internal({
  name: 'sync_proofs',
  holds:
    'for each submission when a reconcile run, other than a dry one, last came by, which one last proved it equal to what ' +
    'the service shows, and when',
  columns: {
    account: text(),
    submission_id: text(),
    run_id: text('the run that proved it; if none has, the last that visited it'),
    visited_at: time('when a run last visited it'),
    proved_at: orNull(time('when it was last equal to what the service shows, or was repaired; null for never')),
    unconfirmed: orNull(text('parts of the requirements view that the service left out then, although the mirror has rows of them')),
  },
})
