import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** Alarms, audited actions, console sessions, upkeep and figures. */
export const operations: Migration = {
  version: 7,
  name: 'operations',
  oldestCompatible: 1,
  statements: (t) => [...alarms(t), ...operators(t), ...processes(t)],
}

function alarms(t: ColumnTypes): string[] {
  return [
    `create table alarms (
      name ${t.id} not null, account ${t.id} not null, destination ${t.id} not null,
      state text not null, severity text not null,
      since ${t.time} not null, last_at ${t.time} not null, resolved_at ${t.time},
      text text not null, notified_at ${t.time}, acknowledged_by text, acknowledged_at ${t.time},
      primary key (name, account, destination))`,
    `create table alarm_history (
      episode_id ${t.serial},
      name ${t.id} not null, account ${t.id} not null, destination ${t.id} not null, severity text not null,
      since ${t.time} not null, fired_at ${t.time} not null, resolved_at ${t.time}, text text not null,
      acknowledged_by text, acknowledged_at ${t.time})`,
    'create index alarm_history_open on alarm_history (name, account, destination) where resolved_at is null',
    `create table sync_alert_messages (
      operator ${t.id} not null, name ${t.id} not null, account ${t.id} not null, destination ${t.id} not null,
      notice_id ${t.id} not null, kind text not null, body text not null,
      queued_at ${t.time} not null, due_at ${t.time} not null, lease_token ${t.id},
      attempts ${t.int} not null, error text, outcome text, settled_at ${t.time},
      primary key (operator, name, account, destination))`,
    'create index sync_alert_messages_due on sync_alert_messages (due_at) where settled_at is null',
    `create table sync_alarm_watch (
      id ${t.int} not null primary key check (id = 1),
      lease_token ${t.id} not null, lease_until ${t.time} not null, evaluated_at ${t.time})`,
  ]
}

function operators(t: ColumnTypes): string[] {
  return [
    `create table operator_actions (
      action_id ${t.serial},
      at ${t.time} not null, who text not null, action text not null, target text, detail ${t.json}, outcome text not null)`,
    'create index operator_actions_action on operator_actions (action, action_id)',
    `create table sync_console_sessions (
      session_hash ${t.id} primary key, who text not null, token_proof text not null, token_tag text not null,
      began_at ${t.time} not null, seen_at ${t.time} not null, oidc text)`,
  ]
}

function processes(t: ColumnTypes): string[] {
  return [
    `create table sync_processes (
      process_id ${t.id} not null primary key, role text not null, version text not null,
      started_at ${t.time} not null, seen_at ${t.time} not null)`,
    `create table sync_process_settings (
      process_id ${t.id} not null primary key, settings text not null, reload_id ${t.id}, reload_result text)`,
    `create table sync_counters (
      account ${t.id} not null, name ${t.id} not null, label ${t.id} not null, value ${t.int} not null,
      primary key (account, name, label))`,
    `create table sync_figures (
      step_seconds ${t.int} not null, at ${t.time} not null, process_id ${t.id} not null, figures text not null,
      primary key (step_seconds, at, process_id))`,
    `create table sync_sums (
      id ${t.int} not null primary key check (id = 1), counted_at ${t.time} not null, sums text not null)`,
    `create table sync_upkeep (
      task ${t.id} not null primary key,
      slot text, settings text, lease_token ${t.id}, lease_until ${t.time}, position ${t.int} not null,
      began_at ${t.time}, ended_at ${t.time}, note text, waits_since ${t.time}, waits_for text, confirmed text)`,
  ]
}
