import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { itsRemoteId, itsStream, ofPush, ofReady } from '../src/store/schema/push-states.ts'
import { seconds } from './expressions.ts'

/** Views of freshness, completeness and pushed changes. */
export const statusViews: Migration = {
  version: 9,
  name: 'status-views',
  oldestCompatible: 1,
  statements: (t) => [
    freshness(t),
    KNOWN_IDS,
    LOG_EPOCHS,
    pushStatus(t),
    PUSH_VERIFICATIONS,
    arrivals(t),
    completeness(t),
    accountCompleteness(t),
  ],
}

function freshness(t: ColumnTypes): string {
  const none = `cast(null as ${t.time})`
  const ofPart = (part: string) => `
    select account, submission_id, '${part}' as read, ${part}_read_at as last_read_at, ${none} as last_changed_at, ${none} as last_full_read_at
    from submissions where ${part}_read_at is not null`
  return `create view freshness as
    select account, submission_id, read, last_read_at, last_changed_at, last_full_read_at from sync_reads where id = ''
    union all
    ${['rail', 'quote_history', 'assessment'].map(ofPart).join(' union all ')}
    union all
    select account, named_for as submission_id, read,
      cast(case when count(*) = count(last_read_at) then min(last_read_at) end as ${t.time}) as last_read_at,
      cast(max(last_changed_at) as ${t.time}) as last_changed_at, cast(null as ${t.time}) as last_full_read_at
    from sync_reads where named_for <> '' and due_at is not null group by account, named_for, read`
}

/** Two parts, so that an index finds the ids of a submission. */
const KNOWN_IDS = `create view known_ids as
  select account, read as kind, id, named_for as submission_id, via, first_seen_at, last_read_at, error from sync_reads where named_for > ''
  union all
  select account, read, id, cast(nullif(named_for, '') as text), via, first_seen_at, last_read_at, error from sync_reads where named_for = ''`

const LOG_EPOCHS = `create view log_epochs as
  select log_epoch, epoch_no, began_at, after_seq, known_seq, reason, fully_read_at from sync_log_epochs`

const PUSH_VERIFICATIONS = `create view push_verifications as
  select account, destination, submission_id, entity, entity_id, message_id, verified_at, result, repaired_at from sync_push_verifications`

/** Differences between the parts of `push_status` on SQLite. */
interface Part {
  readonly states: string
  readonly state: string
  readonly isOpen: string
  readonly nextTryAt?: string
  readonly deliveredAt?: string
}

const STREAM = `left join sync_push_streams l on ${itsStream}`

const READY: Part = {
  states: "o.state = 'ready'",
  state: ofReady.state,
  isOpen: '1',
  nextTryAt: ofReady.nextTryAt,
}

/**
 * On SQLite each part says its states in words that are compared before a row is read: a part that is not asked for is passed over, and what has
 * not reached a destination is found by the index of its state, however much has. Postgres takes the parts' rows in no common order, so there
 * the view has one part, and what has not reached a destination is found by the index of open rows.
 */
function pushStatus(t: ColumnTypes): string {
  const parts: readonly Part[] =
    t.kind === 'sqlite'
      ? [
          READY,
          { states: "o.state = 'delivered'", state: "'delivered'", isOpen: '0', deliveredAt: 'o.settled_at' },
          { states: "o.state in ('dead', 'unknown', 'skipped')", state: 'o.state', isOpen: "o.state <> 'skipped'" },
        ]
      : [
          {
            states: 'true',
            ...ofPush,
            isOpen: "o.state not in ('delivered', 'skipped')",
          },
        ]
  return `create view push_status as ${parts.map((part) => partOf(t, part)).join(' union all ')}`
}

/** The parts have equal types; otherwise SQLite would read all of them before it sorts or joins. */
function partOf(t: ColumnTypes, { states, state, isOpen, nextTryAt, deliveredAt }: Part): string {
  return `
    select o.destination, d.state as destination_state, o.account, o.submission_id, o.entity, o.entity_id, o.operation, o.seq, o.message_id,
      cast(${state} as text) as state, ${isOpen} as is_open, o.attempts, o.queued_at, o.tried_at,
      cast(${nextTryAt ?? 'null'} as ${t.time}) as next_try_at, cast(${deliveredAt ?? 'null'} as ${t.time}) as delivered_at,
      o.status, o.error, r.remote_id
    from sync_outbox o
    join sync_destinations d on d.destination = o.destination
    ${nextTryAt === undefined ? '' : STREAM}
    left join sync_remote_ids r on ${itsRemoteId}
    where ${states}`
}

/** `now()` is constant in a transaction; a volatile clock would keep Postgres from reading one row of a view by its key. */
function now(t: ColumnTypes): string {
  return t.kind === 'sqlite' ? "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')" : 'now()'
}

function ago(t: ColumnTypes, time: string): string {
  return t.kind === 'sqlite' ? `strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-${time}')` : `now() - interval '${time}'`
}

function greatest(t: ColumnTypes, values: readonly string[]): string {
  return `${t.kind === 'sqlite' ? 'max' : 'greatest'}(${values.join(', ')})`
}

function arrivals(t: ColumnTypes): string {
  const of = (entity: string, id: string) => `
    select r.account, r.submission_id, '${entity}' as entity, r.${id} as record_id, r.occurred_at, r.first_seen_at as known_at,
      case when r.first_seen_via = 'poll' and reread.way is not null then 'full_read' else r.first_seen_via end as known_via,
      ${seconds(t, 'r.occurred_at', 'r.first_seen_at')} as delay_seconds,
      case when r.first_seen_via = 'webhook' then r.first_seen_at else told.first_at end as webhook_at,
      case when r.first_seen_via = 'webhook' then 'first' when told.way is not null then 'later'
        when r.first_seen_via = 'backfill' then 'not expected' else 'none' end as webhook
    from ${entity} r
    left join sync_arrivals told on told.account = r.account and told.entity = '${entity}' and told.submission_id = r.submission_id
      and told.record_id = r.${id} and told.way = 'webhook'
    left join sync_arrivals reread on reread.account = r.account and reread.entity = '${entity}'
      and reread.submission_id = r.submission_id and reread.record_id = r.${id} and reread.way = 'full_read'`
  return `create view arrivals as ${of('market_events', 'event_id')} union all ${of('thread_messages', 'message_id')}`
}

/** A record learned before this time counts as lost: now minus WEBHOOK_LOST_AFTER of the process that ran last. */
function lostBefore(t: ColumnTypes): string {
  const ms = `(select c.value from sync_counters c where c.account = '' and c.name = 'webhook_lost_after_ms' and c.label = '')`
  const seconds = `(coalesce(${ms}, 900000) / 1000)`
  return t.kind === 'sqlite'
    ? `strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-' || ${seconds} || ' seconds')`
    : `now() - make_interval(secs => ${seconds})`
}

/** Records without a webhook that should have had one by now. */
function isLost(t: ColumnTypes, arrival: string): string {
  // `+` keeps SQLite from preferring the index of feed arrivals to the key, which names the submission.
  return `${t.kind === 'sqlite' ? '+' : ''}${arrival}.way = 'feed' and ${arrival}.first_at < ${lostBefore(t)}
    and not exists (select 1 from sync_arrivals told where told.account = ${arrival}.account and told.entity = ${arrival}.entity
      and told.submission_id = ${arrival}.submission_id and told.record_id = ${arrival}.record_id and told.way = 'webhook')`
}

function completeness(t: ColumnTypes): string {
  const overdue = (read: string) => `coalesce(${seconds(t, `${read}.due_at`, now(t))}, 0)`
  const failing = (read: string) => `case when ${read}.failures + ${read}.not_found + ${read}.stalled_feed_reads > 0 then 1 else 0 end`
  // With the whole key. Otherwise SQLite uses the index of freshness, and reads every submission's reads for each submission.
  const join = (read: string, alias: string) =>
    `left join sync_reads ${alias} on ${alias}.account = s.account and ${alias}.submission_id = s.submission_id and ${alias}.id = ''
      and ${alias}.read = '${read}'`
  return `create view completeness as
    select s.account, s.submission_id, s.tracked_at, s.tracked_via, s.unreachable_since,
      e.last_read_at as events_read_at, m.last_read_at as thread_read_at, r.last_read_at as state_read_at,
      e.last_full_read_at as events_fully_read_at, m.last_full_read_at as thread_fully_read_at,
      ${greatest(t, ['0', overdue('e'), overdue('m'), overdue('r')])} as lag_seconds,
      cast(${failing('e')} + ${failing('m')} + ${failing('r')} as ${t.int}) as failing_reads,
      p.reconciled_at, case when p.reconciled_at is not null then p.run_id end as reconciled_by,
      case when p.reconciled_at is not null then p.unconfirmed end as unconfirmed,
      coalesce(n.events, 0) as event_count, coalesce(n.messages, 0) as message_count,
      (select count(*) from sync_arrivals a where a.account = s.account and a.entity in ('market_events', 'thread_messages')
        and a.submission_id = s.submission_id and ${isLost(t, 'a')}
        and (a.entity <> 'market_events' or not exists (
          select 1 from sync_accounts c where c.account = s.account and c.events_unreadable_at is not null))) as lost_webhooks
    from submissions s
    ${join('events', 'e')}
    ${join('thread', 'm')}
    ${join('requirements', 'r')}
    left join sync_reconciled p on p.account = s.account and p.submission_id = s.submission_id
    left join sync_record_counts n on n.account = s.account and n.submission_id = s.submission_id`
}

/** Totals of an account from indexes and `arrival_counts`, because counting millions of records would be slow. */
function accountCompleteness(t: ColumnTypes): string {
  const of = (what: string, from: string) => `(select ${what} from ${from} x where x.account = a.account`
  const oldest = (read: string) => `${of('min(x.last_read_at)', 'sync_reads')} and x.read = '${read}')`
  const dueOfRank = (rank: number) => `${of('min(x.due_at)', 'sync_reads')} and x.rank = ${rank})`
  // One read at a time, so that each uses the index of freshness.
  const neverRead = ['events', 'thread', 'requirements']
    .map((read) => `select x.submission_id from sync_reads x where x.account = a.account and x.read = '${read}' and x.last_read_at is null`)
    .join(' union all ')
  const lag = (rank: number) => `coalesce(${seconds(t, dueOfRank(rank), now(t))}, 0)`
  return `create view account_completeness as
    select a.account, a.state, ${of('count(*)', 'submissions')}) as submissions,
      ${of('count(*)', 'submissions')} and x.unreachable_since is not null) as unreachable,
      (select count(distinct never.submission_id) from (${neverRead}) never) as never_read,
      ${oldest('events')} as oldest_events_read_at, ${oldest('thread')} as oldest_thread_read_at, ${oldest('requirements')} as oldest_state_read_at,
      ${greatest(t, ['0', lag(0), lag(1), lag(2)])} as lag_seconds,
      ${of('count(*)', 'sync_reconciled')} and x.reconciled_at is not null) as reconciled, ${of('min(x.reconciled_at)', 'sync_reconciled')}) as oldest_reconciled_at,
      ${knownBy('c')}
      ${ratio('c')} as webhook_loss_ratio, ${ratio('d')} as webhook_loss_ratio_day,
      a.events_unreadable_at
    from sync_accounts a
    left join (${sums(t, '')}) c on c.account = a.account
    left join (${sums(t, `where n.hour > ${ago(t, '1 day')}`)}) d on d.account = a.account`
}

/** All records, by the way they first arrived. */
function knownBy(alias: string): string {
  return ['webhook', 'poll', 'backfill', 'reconcile', 'lost']
    .map((way) => `coalesce(${alias}.${way}, 0) as ${way === 'lost' ? 'lost_webhooks' : `known_by_${way}`},`)
    .join(' ')
}

/** Null if no webhook was expected. */
function ratio(alias: string): string {
  return `case when ${alias}.expected > 0 then cast(${alias}.lost as double precision) / ${alias}.expected end`
}

/** While an account's event deliveries can't be read, a missing webhook can't be detected, so none is expected. */
function sums(t: ColumnTypes, where: string): string {
  const sum = (what: string, as: string) => `cast(sum(${what}) as ${t.int}) as ${as}`
  const expected =
    "case when n.entity = 'market_events' and u.events_unreadable_at is not null then 0 else n.webhook + n.poll + n.reconcile end"
  const each = ['webhook', 'poll', 'backfill', 'reconcile', 'lost'].map((way) => sum(`n.${way}`, way))
  return `select n.account, ${each.join(', ')}, ${sum(expected, 'expected')}
    from arrival_counts n join sync_accounts u on u.account = n.account ${where} group by n.account`
}
