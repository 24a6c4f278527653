import type { Migration } from '../src/store/schema/migration.ts'

/** What happened in each minute and hour, summed up by each process: figures over time that outlive the processes. */
export const figures: Migration = {
  version: 35,
  name: 'figures',
  oldestCompatible: 1,
  statements: (t) => [
    `create table sync_figures (
      step_seconds ${t.int} not null, at ${t.time} not null, process_id text not null, figures text not null,
      primary key (step_seconds, at, process_id))`,
  ],
}
