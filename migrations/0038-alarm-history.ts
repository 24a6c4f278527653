import type { Migration } from '../src/store/schema/migration.ts'

/** When each alarm fired and ended, and who took note of it. What fires or is over at this moment begins the history. */
export const alarmHistory: Migration = {
  version: 38,
  name: 'alarm-history',
  oldestCompatible: 1,
  statements: (t) => [
    'alter table alarms add column acknowledged_by text',
    `alter table alarms add column acknowledged_at ${t.time}`,
    `create table alarm_history (
      episode_id ${t.serial},
      name text not null, account text not null, destination text not null, severity text not null,
      since ${t.time} not null, fired_at ${t.time} not null, resolved_at ${t.time}, text text not null,
      acknowledged_by text, acknowledged_at ${t.time})`,
    'create index alarm_history_open on alarm_history (name, account, destination) where resolved_at is null',
    `insert into alarm_history (name, account, destination, severity, since, fired_at, resolved_at, text)
      select name, account, destination, severity, since, since, case when state = 'resolved' then resolved_at end, text
      from alarms where state <> 'pending' order by since, name, account, destination`,
  ],
}
