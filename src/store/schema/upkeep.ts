import { int, internal, orNull, type TableOf, text, time } from './table.ts'

/** Processes, and what they count and do for all. */

export const syncProcesses = internal({
  name: 'sync_processes',
  holds: 'the processes that run, with their last sign of life',
  columns: {
    process_id: text(),
    role: text(),
    version: text(),
    started_at: time(),
    seen_at: time(),
  },
})

export const syncProcessSettings = internal({
  name: 'sync_process_settings',
  holds: 'of each `serve` a fingerprint of every setting in force, and the reload that a command asks it for',
  columns: {
    process_id: text(),
    settings: text(),
    reload_id: orNull(text('a reload that the process has not finished')),
    reload_result: orNull(text()),
  },
})

export const syncCounters = internal({
  name: 'sync_counters',
  holds: 'counters that outlive a process',
  columns: {
    account: text(),
    name: text(),
    label: text(),
    value: int(),
  },
})

export const syncFigures = internal({
  name: 'sync_figures',
  holds:
    'what each process counted in each minute (of two days) and hour (of 31 days): deliveries, changes, lost webhooks, lags, pushes by destination, requests, how ' +
    'much waited; `GET /api/v1/history` sums it up',
  columns: {
    step_seconds: int('60 or 3,600'),
    at: time('when the minute or hour began, UTC'),
    process_id: text(),
    figures: text('JSON: numbers by series and label'),
  },
})

export const syncSums = internal({
  name: 'sync_sums',
  holds: 'what sums up all of the mirror, as it was counted within the last minutes: one row, which one process writes for all',
  columns: {
    id: int(),
    counted_at: time(),
    sums: text('JSON: the sums of each account, by its name'),
  },
})

export const syncUpkeep = internal({
  name: 'sync_upkeep',
  holds: 'what one process does for all, such as retention: whose turn it is, how far it came, what it did',
  columns: {
    task: text(),
    slot: orNull(text('the newest run that began or ended, such as a day')),
    settings: orNull(text('the settings of that run: with others it is due again')),
    lease_token: orNull(text()),
    lease_until: orNull(time()),
    position: int('progress of the task, in its own measure'),
    began_at: orNull(time()),
    ended_at: orNull(time()),
    note: orNull(text('what the last run did, in a sentence')),
    waits_since: orNull(time('since when, and why, its next run waits for an operator; null when it does not')),
    waits_for: orNull(text()),
    confirmed: orNull(text('the run that an operator let take place: its slot and settings')),
  },
})

export type UpkeepTable = TableOf<typeof syncUpkeep>
