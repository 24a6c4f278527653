import { sql } from 'kysely'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { type Claimed, Leased } from '../engine/leased.ts'
import { dbTime, timeValue } from '../engine/sql.ts'
import type { AlarmsTable, OperatorNoticesTable } from '../schema/operators.ts'
import { writeHistory } from './alarm-history.ts'

/** Gives transactions about alarms priority. Otherwise, they would wait if blocked transactions use all connections. */
const ALARMS_FIRST = { priority: true } as const

/** Identifies an alarm. `account` or `destination` is `''` if the alarm isn't about an account or a destination. */
export interface AlarmKey {
  readonly name: string
  readonly account: string
  readonly destination: string
}

export type AlarmRow = Readonly<Omit<AlarmsTable, 'acknowledged_by' | 'acknowledged_at'>>

/** The newest message about an alarm to an alert recipient. */
export type NoticeRow = Readonly<Omit<OperatorNoticesTable, 'body' | 'lease_token'>>

/**
 * A message that replaces the recipient's previous message about the same alarm.
 * `sent`: true if the message was already sent; false to queue the message.
 */
export type NewNotice = Readonly<
  Pick<OperatorNoticesTable, 'operator' | 'name' | 'account' | 'destination' | 'notice_id' | 'kind' | 'body' | 'queued_at'>
> & { readonly sent: boolean }

export interface AlarmPlan {
  /** Time of the evaluation. */
  readonly at: TimeText
  /** true if all alarms were evaluated; false if only some alarms were evaluated. */
  readonly whole: boolean
  /** Rows to write, except `notified_at`. An alarm that is stored as firing keeps its acknowledgement. */
  readonly alarms: readonly AlarmRow[]
  readonly forgotten: readonly AlarmKey[]
  readonly notices: readonly NewNotice[]
  readonly forgottenNotices: readonly (AlarmKey & { readonly operator: string })[]
}

/** Lists all stored alarms, firing or resolved, ordered by key. */
export function listAlarms(q: Query): Promise<Readonly<AlarmsTable>[]> {
  return q.sql.selectFrom('alarms').selectAll().orderBy('name').orderBy('account').orderBy('destination').execute()
}

export const claimedWatch = new Leased<Claimed & { readonly id: 1 }>({
  table: 'sync_alarm_watch',
  what: 'evaluation of alarms',
  key: { id: 'id' },
  due: 'lease_until',
})

/**
 * Claims or renews the lease for evaluating alarms.
 * @param token identifies the process.
 * @returns false if another process has the lease.
 */
export async function claimWatch(db: Db, token: string, leaseMs: number): Promise<boolean> {
  return db.write(
    'alarm-watch',
    async (tx) => {
      await tx.run(
        sql`insert into sync_alarm_watch (id, lease_token, lease_until) values (1, ${token}, ${dbTime(tx)}) on conflict do nothing`,
      )
      return (await claimedWatch.claimOne(tx, token, { id: 1 }, { leaseMs, heldBy: token })) !== null
    },
    ALARMS_FIRST,
  )
}

/** @returns when a process last evaluated all alarms; null if no process has evaluated all alarms yet. */
export async function evaluatedAt(q: Query): Promise<TimeText | null> {
  const row = await q.sql.selectFrom('sync_alarm_watch').select('evaluated_at').where('id', '=', 1).executeTakeFirst()
  return row?.evaluated_at ?? null
}

/**
 * Stores the result of an evaluation and its messages in one transaction.
 * @param plan computes the result from the stored rows. If the transaction is retried, `plan` is called again.
 * @throws LeaseLostError if another process now evaluates alarms. Nothing is stored.
 */
export async function storeEvaluation(
  db: Db,
  token: string,
  plan: (alarms: readonly AlarmRow[], notices: readonly NoticeRow[]) => AlarmPlan,
): Promise<AlarmPlan> {
  return db.write(
    'alarms',
    async (tx) => {
      await claimedWatch.hold(tx, { id: 1, leaseToken: token })
      const decided = plan(await listAlarms(tx), await listNotices(tx))
      for (const row of decided.alarms) await putAlarm(tx, row)
      for (const key of decided.forgotten) {
        const { name, account, destination } = key
        await tx.run(sql`delete from alarms where name = ${name} and account = ${account} and destination = ${destination}`)
      }
      for (const notice of decided.notices) await putNotice(tx, notice)
      for (const { operator, name, account, destination } of decided.forgottenNotices) {
        await tx.run(sql`delete from sync_alert_messages where operator = ${operator} and name = ${name} and account = ${account}
        and destination = ${destination}`)
      }
      await writeHistory(tx)
      if (decided.whole) await tx.run(sql`update sync_alarm_watch set evaluated_at = ${timeValue(tx, decided.at)} where id = 1`)
      return decided
    },
    ALARMS_FIRST,
  )
}

/**
 * Stores an alarm, and messages about it that were already sent. Works without the lease for evaluating alarms.
 * A later evaluation resolves the alarm.
 */
export async function reportAlarm(db: Db, alarm: AlarmRow, sent: readonly NewNotice[]): Promise<void> {
  await db.write('alarms', async (tx) => {
    await putAlarm(tx, alarm)
    for (const notice of sent) await putNotice(tx, notice)
    await writeHistory(tx)
  })
}

export function listNotices(q: Query): Promise<NoticeRow[]> {
  return q.sql.selectFrom('sync_alert_messages').selectAll().execute()
}

async function putAlarm(tx: Tx, row: AlarmRow): Promise<void> {
  const { name, account, destination, state, severity, text } = row
  const [since, lastAt, resolvedAt] = [row.since, row.last_at, row.resolved_at].map((time) => timeValue(tx, time))
  await tx.run(sql`
    insert into alarms (name, account, destination, state, severity, since, last_at, resolved_at, text)
    values (${name}, ${account}, ${destination}, ${state}, ${severity}, ${since}, ${lastAt}, ${resolvedAt}, ${text})
    on conflict (name, account, destination) do update set state = excluded.state, severity = excluded.severity, since = excluded.since,
      last_at = excluded.last_at, resolved_at = excluded.resolved_at, text = excluded.text,
      acknowledged_by = case when alarms.state = 'firing' then alarms.acknowledged_by end,
      acknowledged_at = case when alarms.state = 'firing' then alarms.acknowledged_at end`)
}

async function putNotice(tx: Tx, notice: NewNotice): Promise<void> {
  const { operator, name, account, destination, notice_id, kind, body, sent } = notice
  const queuedAt = timeValue(tx, notice.queued_at)
  const [outcome, settledAt] = [sent ? 'sent' : null, timeValue(tx, sent ? timeFromMs(tx.clock.now()) : null)]
  await tx.run(sql`
    insert into sync_alert_messages
      (operator, name, account, destination, notice_id, kind, body, queued_at, due_at, attempts, outcome, settled_at)
    values (${operator}, ${name}, ${account}, ${destination}, ${notice_id}, ${kind}, ${body}, ${queuedAt}, ${dbTime(tx)}, ${sent ? 1 : 0},
      ${outcome}, ${settledAt})
    on conflict (operator, name, account, destination) do update set notice_id = excluded.notice_id, kind = excluded.kind,
      body = excluded.body, queued_at = excluded.queued_at, due_at = excluded.due_at, attempts = excluded.attempts,
      lease_token = null, error = null, outcome = excluded.outcome, settled_at = excluded.settled_at`)
  if (!sent) return
  await tx.run(sql`update alarms set notified_at = ${queuedAt}
    where name = ${name} and account = ${account} and destination = ${destination}`)
}
