import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** The ledger of completeness: how each record became known, what was proven when, and what probing found. */
export const completeness: Migration = {
  version: 5,
  name: 'completeness',
  oldestCompatible: 1,
  statements: (t) => [...tables(t), arrivals(t), submissionView(t), accountView(t)],
}

function tables(t: ColumnTypes): string[] {
  return [
    `create table arrival_counts (
      account text not null, hour ${t.time} not null, entity text not null,
      webhook ${t.int} not null, poll ${t.int} not null, backfill ${t.int} not null, reconcile ${t.int} not null, lost ${t.int} not null,
      primary key (account, hour, entity))`,
    `create table sync_discovery (
      account text not null, path text not null, template text not null,
      due_at ${t.time} not null, lease_token text,
      probed_at ${t.time}, answered_at ${t.time}, outcome text, failures ${t.int} not null, error text,
      ids ${t.int} not null, found ${t.int} not null, raw text, raw_bytes ${t.int},
      primary key (account, path))`,
    'create index sync_discovery_failing on sync_discovery (account) where failures > 0',
    'create index sync_discovery_due on sync_discovery (account, template, due_at)',
    'create index submissions_unreachable on submissions (account, submission_id) where unreachable_since is not null',
  ]
}

/** Of which no webhook has told since, and of which one should have told by now. */
function isLost(t: ColumnTypes, arrival: string, sign: string): string {
  return `${sign}${arrival}.way = 'feed' and ${arrival}.first_at < ${ago(t, '15 minutes')}
    and not exists (select 1 from sync_arrivals told where told.account = ${arrival}.account and told.entity = ${arrival}.entity
      and told.submission_id = ${arrival}.submission_id and told.record_id = ${arrival}.record_id and told.way = 'webhook')`
}

/** `now()` stands for a whole transaction: a volatile clock would keep Postgres from reading one row of a view by its key. */
function now(t: ColumnTypes): string {
  return t.kind === 'sqlite' ? "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')" : 'now()'
}

function ago(t: ColumnTypes, time: string): string {
  return t.kind === 'sqlite' ? `strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-${time}')` : `now() - interval '${time}'`
}

function greatest(t: ColumnTypes, values: readonly string[]): string {
  return `${t.kind === 'sqlite' ? 'max' : 'greatest'}(${values.join(', ')})`
}

/** Whole seconds from one moment to another, negative when the second is the earlier one. */
function seconds(t: ColumnTypes, from: string, to: string): string {
  return t.kind === 'sqlite'
    ? `cast(round((julianday(${to}) - julianday(${from})) * 86400) as integer)`
    : `extract(epoch from ${to} - ${from})::bigint`
}

function arrivals(t: ColumnTypes): string {
  const of = (entity: string, id: string) => `
    select r.account, r.submission_id, '${entity}' as entity, r.${id} as record_id, r.occurred_at, r.first_seen_at as known_at,
      case when r.first_seen_via = 'poll' and replayed.way is not null then 'replay' else r.first_seen_via end as known_via,
      ${seconds(t, 'r.occurred_at', 'r.first_seen_at')} as delay_seconds,
      case when r.first_seen_via = 'webhook' then r.first_seen_at else told.first_at end as webhook_at,
      case when r.first_seen_via = 'webhook' then 'first' when told.way is not null then 'later'
        when r.first_seen_via = 'backfill' then 'not expected' else 'none' end as webhook
    from ${entity} r
    left join sync_arrivals told on told.account = r.account and told.entity = '${entity}' and told.submission_id = r.submission_id
      and told.record_id = r.${id} and told.way = 'webhook'
    left join sync_arrivals replayed on replayed.account = r.account and replayed.entity = '${entity}'
      and replayed.submission_id = r.submission_id and replayed.record_id = r.${id} and replayed.way = 'replay'`
  return `create view arrivals as ${of('market_events', 'event_id')} union all ${of('thread_messages', 'message_id')}`
}

/** How many records each submission has, as columns of the view, and the table that it is joined with for them. */
interface RecordCounts {
  readonly events: string
  readonly messages: string
  readonly join: string
}

const counted: RecordCounts = { events: countOf('market_events'), messages: countOf('thread_messages'), join: '' }

function countOf(table: string): string {
  return `(select count(*) from ${table} x where x.account = s.account and x.submission_id = s.submission_id)`
}

/**
 * @param sign of a later step: `+` keeps SQLite from looking for an index by the way of an arrival.
 * @param counts of a later step, which reads them where they are kept.
 */
export function submissionView(t: ColumnTypes, sign = '', counts = counted): string {
  const overdue = (read: string) => `coalesce(${seconds(t, `${read}.due_at`, now(t))}, 0)`
  const failing = (read: string) => `case when ${read}.failures + ${read}.misses + ${read}.stalls > 0 then 1 else 0 end`
  const join = (read: string, alias: string) =>
    `left join sync_reads ${alias} on ${alias}.account = s.account and ${alias}.submission_id = s.submission_id and ${alias}.read = '${read}'`
  return `create view completeness as
    select s.account, s.submission_id, s.tracked_at, s.tracked_via, s.unreachable_since,
      e.last_read_at as events_read_at, m.last_read_at as thread_read_at, r.last_read_at as state_read_at,
      e.last_replay_at as events_replayed_at, m.last_replay_at as thread_replayed_at,
      ${greatest(t, ['0', overdue('e'), overdue('m'), overdue('r')])} as lag_seconds,
      cast(${failing('e')} + ${failing('m')} + ${failing('r')} as ${t.int}) as failing_reads,
      p.proved_at, case when p.proved_at is not null then p.run_id end as proved_by,
      ${counts.events} as event_count, ${counts.messages} as message_count,
      (select count(*) from sync_arrivals a where a.account = s.account and a.entity in ('market_events', 'thread_messages')
        and a.submission_id = s.submission_id and ${isLost(t, 'a', sign)}
        and (a.entity <> 'market_events' or not exists (
          select 1 from sync_accounts c where c.account = s.account and c.events_unreadable_at is not null))) as lost_webhooks
    from submissions s
    ${join('events', 'e')}
    ${join('thread', 'm')}
    ${join('requirements', 'r')}
    left join sync_proofs p on p.account = s.account and p.submission_id = s.submission_id ${counts.join}`
}

/** Sums over an account, from indexes and from `arrival_counts`: records themselves are not counted, of which there are millions. */
function accountView(t: ColumnTypes): string {
  const of = (what: string, from: string) => `(select ${what} from ${from} x where x.account = a.account`
  const oldest = (read: string) => `${of('min(x.last_read_at)', 'sync_reads')} and x.read = '${read}')`
  const dueOfRank = (rank: number) => `${of('min(x.due_at)', 'sync_reads')} and x.rank = ${rank})`
  // A read at a time, so that each goes by the index of freshness.
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
      ${of('count(*)', 'sync_proofs')} and x.proved_at is not null) as proven, ${of('min(x.proved_at)', 'sync_proofs')}) as oldest_proof_at,
      ${knownBy('c')}
      ${ratio('c')} as webhook_loss_ratio, ${ratio('d')} as webhook_loss_ratio_day,
      a.events_unreadable_at
    from sync_accounts a
    left join (${sums(t, '')}) c on c.account = a.account
    left join (${sums(t, `where n.hour > ${ago(t, '1 day')}`)}) d on d.account = a.account`
}

/** What came in all, by the way in which it came first. */
function knownBy(alias: string): string {
  return ['webhook', 'poll', 'backfill', 'reconcile', 'lost']
    .map((way) => `coalesce(${alias}.${way}, 0) as ${way === 'lost' ? 'lost_webhooks' : `known_by_${way}`},`)
    .join(' ')
}

/** Null when nothing came of which a webhook had to tell. */
function ratio(alias: string): string {
  return `case when ${alias}.expected > 0 then cast(${alias}.lost as double precision) / ${alias}.expected end`
}

/** Of events no webhook is expected as long as the account's event deliveries cannot be read: a missing one cannot be told from those. */
function sums(t: ColumnTypes, where: string): string {
  const sum = (what: string, as: string) => `cast(sum(${what}) as ${t.int}) as ${as}`
  const expected =
    "case when n.entity = 'market_events' and u.events_unreadable_at is not null then 0 else n.webhook + n.poll + n.reconcile end"
  const each = ['webhook', 'poll', 'backfill', 'reconcile', 'lost'].map((way) => sum(`n.${way}`, way))
  return `select n.account, ${each.join(', ')}, ${sum(expected, 'expected')}
    from arrival_counts n join sync_accounts u on u.account = n.account ${where} group by n.account`
}
