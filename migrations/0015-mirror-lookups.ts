import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/**
 * Indexes for the newest rows of an account and for the changes of a submission, and a running count of each submission's events and
 * messages, which nobody can count in time once there are millions.
 */
export const mirrorLookups: Migration = {
  version: 15,
  name: 'mirror-lookups',
  oldestCompatible: 1,
  statements: (t) => [...lock(t), ...indexes(t), ...counts(t)],
}

/** All tables at once, before any work: a step that had to wait for one of them later would lose the work done so far. */
function lock({ kind }: ColumnTypes): string[] {
  return kind === 'postgres' ? ['lock table submissions, market_events, thread_messages, changes in share row exclusive mode'] : []
}

function indexes(t: ColumnTypes): string[] {
  // So that `order by … desc nulls last` is the order of the index. SQLite knows no other.
  const newestFirst = t.kind === 'postgres' ? 'desc nulls last' : ''
  // SQLite ends each index with the number of the row, which here is `seq`.
  const seq = t.kind === 'postgres' ? ', seq' : ''
  return [
    'create index market_events_newest on market_events (account, occurred_at)',
    'create index thread_messages_newest on thread_messages (account, occurred_at)',
    `create index submissions_last_event on submissions (account, last_event_at ${newestFirst})`,
    `create index submissions_last_message on submissions (account, last_message_at ${newestFirst})`,
    `create index changes_account on changes (account${seq})`,
    `create index changes_submission on changes (account, submission_id${seq})`,
  ]
}

/** Kept by triggers, so that every writer keeps them: the release before this one too, and a hand that deletes rows. */
function counts(t: ColumnTypes): string[] {
  const tables = [
    ['market_events', 'events'],
    ['thread_messages', 'messages'],
  ] as const
  return [
    `create table sync_record_counts (
      account text not null, submission_id text not null, events ${t.int} not null default 0, messages ${t.int} not null default 0,
      primary key (account, submission_id))`,
    ...tables.flatMap(([table, column]) => [
      `insert into sync_record_counts (account, submission_id, ${column})
        select account, submission_id, count(*) from ${table} where true group by account, submission_id
        on conflict (account, submission_id) do update set ${column} = excluded.${column}`,
      ...(t.kind === 'sqlite' ? sqliteTriggers(table, column) : postgresTriggers(table, column)),
    ]),
  ]
}

function sqliteTriggers(table: string, column: string): string[] {
  return [
    `create trigger ${table}_count_insert after insert on ${table} begin
      insert into sync_record_counts (account, submission_id, ${column}) values (new.account, new.submission_id, 1)
      on conflict (account, submission_id) do update set ${column} = ${column} + 1; end`,
    `create trigger ${table}_count_delete after delete on ${table} begin
      update sync_record_counts set ${column} = ${column} - 1 where account = old.account and submission_id = old.submission_id; end`,
  ]
}

/** Once for each statement, in the order of the keys, as submissions are locked. */
function postgresTriggers(table: string, column: string): string[] {
  const each = (rows: string) => `select account, submission_id, count(*) as n from ${rows} group by account, submission_id`
  const body = (statement: string) =>
    `returns trigger language plpgsql set search_path from current as $$ begin ${statement}; return null; end $$`
  return [
    `create function ${table}_count_insert() ${body(`
      insert into sync_record_counts (account, submission_id, ${column}) ${each('added')} order by account, submission_id
      on conflict (account, submission_id) do update set ${column} = sync_record_counts.${column} + excluded.${column}`)}`,
    `create function ${table}_count_delete() ${body(`
      update sync_record_counts c set ${column} = c.${column} - d.n from (${each('removed')}) d
      where c.account = d.account and c.submission_id = d.submission_id`)}`,
    `create trigger ${table}_count_insert after insert on ${table} referencing new table as added
      for each statement execute function ${table}_count_insert()`,
    `create trigger ${table}_count_delete after delete on ${table} referencing old table as removed
      for each statement execute function ${table}_count_delete()`,
  ]
}
