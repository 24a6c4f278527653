import type { Relation } from './relation.ts'

export const reconcileRuns: Relation = {
  name: 'reconcile_runs',
  type: 'table',
  holds: 'One row for each reconcile run: what it was asked, how far it came, what it found. One run is about one account.',
  key: ['run_id'],
  columns: {
    run_id: { kind: 'text', class: 'none', source: 'program', meaning: 'its id' },
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'the account that was reconciled' },
    slot: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning:
        'the time of `RECONCILE_CRON` that it is the run of; null when somebody asked for it, and when it was made again ' +
        'because the one before had failed',
    },
    requested_by: { kind: 'text', class: 'none', source: 'program', meaning: '`command`, `cron`, or `admin:` and the name of the token' },
    options: {
      kind: 'json',
      class: 'none',
      source: 'operator',
      meaning:
        'what it was limited to: `submissions`, `since`, `active_only`, `dry_run`, `no_state`, `concurrency`; empty for all of ' +
        'it. A dry run proves nothing, and one that is taken up again begins anew',
    },
    state: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        '`requested`: it waits for a process; `running`, also when its process died, until another takes it up; `done`; ' +
        '`budget`: its time ended first; `failed`; `stopped`: by somebody, or never begun, or left when its account was taken ' +
        'out of the settings',
    },
    requested_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was asked for' },
    started_at: { kind: 'time', class: 'none', source: 'program', meaning: 'null while it waits' },
    updated_at: { kind: 'time', class: 'none', source: 'program', meaning: 'its last sign of life' },
    ended_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it ended' },
    submissions_total: { kind: 'int', class: 'none', source: 'program', meaning: 'how many submissions it was to check' },
    submissions_done: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'how many it has looked at; those it could not read are among them, and are findings',
    },
    rows_compared: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'events, messages, attachments and rows of the state that the service showed and that were compared',
    },
    missing: { kind: 'int', class: 'none', source: 'program', meaning: 'rows that the service shows and the mirror did not have' },
    different: { kind: 'int', class: 'none', source: 'program', meaning: 'rows that differed' },
    absent: { kind: 'int', class: 'none', source: 'program', meaning: 'rows that the service no longer shows, not marked before' },
    unreadable: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'reads that failed, and items that could not be read: what was not checked',
    },
    undelivered: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'changes that are not known to have reached a destination, not reported before but by dry runs',
    },
    repaired: { kind: 'int', class: 'none', source: 'program', meaning: 'findings that were put right, or marked' },
    known: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'findings that stood before this run; they are in none of the other counts',
    },
    lost: { kind: 'int', class: 'none', source: 'program', meaning: 'holes of the change log, not reported before but by dry runs' },
    exit_code: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning:
        'what the command ended with: 0 nothing is left; 1 something could not be checked; 3 something was found and left; 4 ' +
        'the budget ended, or it was not done',
    },
    note: { kind: 'text', class: 'none', source: 'program', meaning: 'in words how it ended, when there is something to say' },
  },
}

export const reconcileFindings: Relation = {
  name: 'reconcile_findings',
  type: 'table',
  holds: 'What the reconcile runs found, a row for each.',
  key: ['run_id', 'finding_no'],
  columns: {
    run_id: { kind: 'text', class: 'none', source: 'program', meaning: 'the run' },
    finding_no: { kind: 'int', class: 'none', source: 'program', meaning: 'the order in which they were found; numbers may be left out' },
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'the account of the run' },
    submission_id: {
      kind: 'text',
      class: 'none',
      source: 'service',
      meaning: 'null when it is about a destination as a whole, or about the change log',
    },
    kind: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: '`missing`, `different`, `absent`, `unreadable`, `undelivered`, `lost`: see below',
    },
    entity: { kind: 'text', class: 'none', source: 'program', meaning: 'the table it is about; null when a read failed' },
    entity_id: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: 'the row, as in `changes`; of `lost` the first and the last number that is missing: `[41,43]`',
    },
    fields: {
      kind: 'json',
      class: 'free',
      source: 'mirror, service',
      meaning: 'of what differed a list of `field`, `mirror` (the value that was here) and `service` (the value that is right)',
    },
    read: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: 'the read by which it was found: `events`, `thread`, or a state read',
    },
    destination: { kind: 'text', class: 'none', source: 'settings', meaning: 'the destination that was not reached' },
    seq: { kind: 'int', class: 'none', source: '`changes`', meaning: 'the change that was not delivered, or the last one that is missing' },
    standing: { kind: 'bool', class: 'none', source: 'program', meaning: 'it was known before this run and is still so: see below' },
    repaired_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was put right, or marked; null when it was left' },
    detail: { kind: 'text', class: 'free', source: 'program', meaning: 'a sentence for people' },
    found_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was found' },
  },
  notes: [
    'Rows are kept for `CHANGES_RETENTION_DAYS` at least and until a later run has looked at all submissions; the row of ' +
      'the run stays.',
    '`kind`: `missing`: the service shows it, the mirror did not have it. `different`: the mirror says something else than ' +
      'the service, or `mirror_info` than the rows of `changes`. `absent`: the mirror has it, the service no longer shows it, ' +
      'or cannot have it (a submission whose id is no uuid in lower case: nothing of it is asked for, compared or marked, and ' +
      'its rows are to be deleted by hand). `unreadable`: it could not be checked. `undelivered`: a change that is not known ' +
      'to have reached a destination. `lost`: numbers between `mirror_info.first_seq` and `last_seq` of which `changes` has ' +
      'no row.',
    '`standing`: marked as absent already (a submission, an event, a message or an attachment), or reported by an earlier ' +
      'run, other than a dry one, as undelivered, as a submission that the service cannot have, or as lost (by a run of any ' +
      'account: the log is that of all). What the state no longer shows, such as a quote that was replaced, is history, and ' +
      'is not told of again.',
  ],
}
