import type { Plants } from './plant.ts'

/** Statements that Postgres alone is sent: tests on SQLite cannot find a fault there. */
export const onPostgres: Plants = {
  'a proof is dated by the clock of the process': {
    file: 'store/reconcile/progress.ts',
    edits: [['sql`(given.at::timestamptz - ${ahead})`', 'sql`given.at::timestamptz`']],
    foundBy: ['reconcile/run/runs.test.ts'],
  },
  'a narrowed run counts as one of everything': {
    file: 'store/reconcile/runs.ts',
    edits: [
      [
        'sql`${sql.ref(column)} - array[${sql.join(names.map((name) => sql.lit(name)))}]`',
        "sql`case when ${sql.ref(column)} ?| array[${sql.join(names.map((name) => sql.lit(name)))}] then '{}' else '{}'::jsonb end`",
      ],
    ],
    foundBy: ['reconcile/run/runs.test.ts', 'ops/retention/retention.test.ts'],
  },
  'what a dry run found counts as known': {
    file: 'store/reconcile/findings.ts',
    edits: [["sql`(reporter.options ->> 'dry_run')::boolean`", "sql`(reporter.options ->> 'dry-run')::boolean`"]],
    foundBy: ['store/changes/log-gaps.test.ts', 'reconcile/run/runs.test.ts'],
  },
  'a reported gap of the log is reported again': {
    file: 'store/changes/log-gaps.ts',
    edits: [['sql`(entity_id::json ->> 0)::bigint`', 'sql`(entity_id::json ->> 1)::bigint`']],
    foundBy: ['store/changes/log-gaps.test.ts'],
  },
  'records of the afternoon are counted in the morning': {
    file: 'store/reconcile/figures.ts',
    edits: [['"T"HH24:MI:SS', '"T"HH12:MI:SS']],
    foundBy: ['reconcile/report/data.test.ts'],
  },
  'a submission that was never replayed is restated at once': {
    file: 'store/outbox/restatements.ts',
    edits: [["q.kind === 'sqlite' ? sql`1` : sql`true`", "q.kind === 'sqlite' ? sql`1` : sql`false`"]],
    foundBy: ['store/changes/log-divergence.test.ts'],
  },
  'replays of all submissions are spread over weeks': {
    file: 'store/reads/full-read-all.ts',
    edits: [['sql`1000 * ${wait}`', 'sql`3600 * 1000 * ${wait}`']],
    foundBy: ['store/changes/log-divergence.test.ts'],
  },
  'a change that was emptied is sent again': {
    file: 'store/outbox/fan-out.ts',
    edits: [['sql`after` : sql`after::text`', 'sql`after` : sql`after::text || operation`']],
    foundBy: ['ops/actions/purge.test.ts'],
  },
  'only one change that waited for its insert is sent with it': {
    file: 'store/outbox/retry.ts',
    edits: [['(select * from sync_outbox f where ${follows} offset 0) f`', '(select * from sync_outbox f where ${follows} limit 1) f`']],
    foundBy: ['store/outbox/queries.test.ts'],
  },
  'arrivals are counted by the day': {
    file: 'store/completeness/arrival-counts.ts',
    edits: [["date_trunc('hour', ${time}, 'UTC')", "date_trunc('day', ${time}, 'UTC')"]],
    foundBy: ['store/completeness/completeness.test.ts'],
  },
  'the demand of reads is shown a thousand times too small': {
    file: 'store/upkeep/status.ts',
    edits: [['sql`extract(epoch from due_at - last_read_at)::float8`', 'sql`extract(epoch from due_at - last_read_at)::float8 * 1000`']],
    foundBy: ['ops/status/status.test.ts'],
  },
}
