import { each, int, internal, orNull, type TableOf, text, time } from './table.ts'

export const syncProcesses = internal({
  name: 'sync_processes',
  holds: 'the running processes, with their last sign of life',
  columns: { ...each(text(), 'process_id', 'role', 'version'), ...each(time(), 'started_at', 'seen_at') },
})

export const syncProcessSettings = internal({
  name: 'sync_process_settings',
  holds: 'for each `serve` a fingerprint of every active setting, and the reload that a command requests',
  columns: {
    ...each(text(), 'process_id', 'settings'),
    reload_id: orNull(text('a reload that the process has not finished')),
    reload_result: orNull(text()),
  },
})

export const syncCounters = internal({
  name: 'sync_counters',
  holds: 'counters that outlive a process',
  columns: { ...each(text(), 'account', 'name', 'label'), value: int() },
})

export const syncFigures = internal({
  name: 'sync_figures',
  holds:
    "each process's counts per minute (for two days) and hour (for 31 days): deliveries, changes, lost webhooks, lags, pushes by destination, " +
    'requests, waiting work; `GET /api/v1/history` sums them up',
  columns: {
    step_seconds: int('60 or 3,600'),
    at: time('when the minute or hour began, UTC'),
    process_id: text(),
    figures: text('JSON: numbers by series and label'),
  },
})

export const syncSums = internal({
  name: 'sync_sums',
  holds: 'totals of the whole mirror, at most a few minutes old: one row, which one process writes for all',
  columns: {
    id: int(),
    counted_at: time(),
    sums: text('JSON: the totals of each account, by its name'),
  },
})

export const syncUpkeep = internal({
  name: 'sync_upkeep',
  holds: 'tasks that one process does for all, such as retention: lease, progress, and result',
  columns: {
    task: text(),
    slot: orNull(text('the newest run that began or ended, such as a day')),
    settings: orNull(text('the settings of that run; other settings make it due again')),
    lease_token: orNull(text()),
    ...each(orNull(time()), 'lease_until', 'began_at', 'ended_at'),
    position: int('progress of the task, in its own measure'),
    note: orNull(text('the result of the last run, in a sentence')),
    waits_since: orNull(time('since when its next run waits for an operator, and for what (`waits_for`); null if it does not wait')),
    waits_for: orNull(text()),
    confirmed: orNull(text('the run that an operator allowed: its slot and settings')),
  },
})

export type UpkeepTable = TableOf<typeof syncUpkeep>
