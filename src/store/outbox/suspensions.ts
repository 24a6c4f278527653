import { sql } from 'kysely'
import { doublingMs } from '../../base/clock.ts'
import { storableText } from '../../model/json.ts'
import type { Db, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime } from '../engine/sql.ts'

/** Longest delay between two probes: for the first 20, which take about nine minutes, and after them. */
const [FIRST_DELAYS_MS, LATER_DELAYS_MS] = [30_000, 300_000]
const FIRST_PROBES = 20
/** Delay between two logins that were refused. */
const LOGIN_DELAY_MS = 900_000

/** When a suspended destination is tried again. */
export interface ProbeDelay {
  /** `manually`: when an operator resumes it, or its settings change. */
  readonly retry: 'soon' | 'slowly' | 'manually'
  /** First delay, which doubles, in milliseconds. */
  readonly baseMs: number
  /** Shortest delay that the target asked for. */
  readonly leastMs: number
}

export interface Suspension extends ProbeDelay {
  readonly reason: string
  /** Fingerprint of the settings that were refused. */
  readonly refusedWith: string
}

/** Suspends an active destination, or keeps it suspended. One that a person paused stays paused. */
export async function suspendDestination(db: Db, name: string, suspension: Suspension): Promise<void> {
  const { reason, refusedWith } = suspension
  await db.write('destination-state', async (tx) => {
    const row = await found(tx, name)
    if (row === undefined || row.state === 'paused') return
    const failures = row.state === 'suspended' ? row.failures + 1 : 1
    await sql`
      update sync_destinations set state = 'suspended', reason = ${storableText(reason)}, failures = ${failures}, refused_with = ${refusedWith},
        since = case when state = 'suspended' then coalesce(since, ${dbTime(tx)}) else ${dbTime(tx)} end, retry_at = ${retryAt(tx, failures, suspension)}
      where destination = ${name}`.execute(tx.sql)
  })
}

/** A probe did not show whether the endpoint works: the next one is made later. */
export async function postponeProbe(db: Db, name: string, delay: ProbeDelay): Promise<void> {
  await db.write('destination-state', async (tx) => {
    const row = await found(tx, name)
    if (row?.state !== 'suspended') return
    const failures = row.failures + 1
    await sql`update sync_destinations set failures = ${failures}, retry_at = ${retryAt(tx, failures, delay)} where destination = ${name}`.execute(
      tx.sql,
    )
  })
}

/** Makes a suspended destination active: its endpoint accepts requests. */
export async function endSuspension(db: Db, name: string): Promise<void> {
  await db.write('destination-state', (tx) => activate(tx, name))
}

/** Tries a suspended destination now: nothing was sent by its last probe, or its settings changed. */
export async function probeNow(db: Db, name: string): Promise<void> {
  await db.write('destination-state', async (tx) => {
    await sql`update sync_destinations set retry_at = ${dbTime(tx)} where destination = ${name} and state = 'suspended'`.execute(tx.sql)
    wake(tx, 'outbox')
  })
}

/**
 * Takes the next probe of a suspended destination for this process. One for which nothing waits becomes active.
 * @param leaseMs until another probe may begin, if the outcome of this one is never stored.
 */
export async function takeProbe(tx: Tx, name: string, leaseMs: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update sync_destinations set retry_at = ${dbTime(tx, leaseMs)}
    where destination = ${name} and state = 'suspended' and retry_at <= ${dbTime(tx)}`.execute(tx.sql)
  if (!numAffectedRows) return false
  const { rows } = await sql`
    select 1 from sync_push_lanes where destination = ${name} and blocked is null limit 1`.execute(tx.sql)
  if (rows.length > 0) return true
  await activate(tx, name)
  return false
}

/** Gives back a probe that found nothing due. */
export async function returnProbe(tx: Tx, name: string): Promise<void> {
  await sql`update sync_destinations set retry_at = ${dbTime(tx)} where destination = ${name} and state = 'suspended'`.execute(tx.sql)
}

async function activate(tx: Tx, name: string): Promise<void> {
  await sql`
    update sync_destinations set state = 'active', reason = null, since = null, retry_at = null, failures = 0, refused_with = null
    where destination = ${name} and state = 'suspended'`.execute(tx.sql)
  wake(tx, 'outbox')
}

async function found(tx: Tx, name: string) {
  return await tx.sql.selectFrom('sync_destinations').select(['state', 'failures']).where('destination', '=', name).executeTakeFirst()
}

function retryAt(tx: Tx, failures: number, { retry, baseMs, leastMs }: ProbeDelay) {
  if (retry === 'manually') return sql`null`
  const capMs = failures <= FIRST_PROBES ? FIRST_DELAYS_MS : LATER_DELAYS_MS
  const delayMs = retry === 'slowly' ? LOGIN_DELAY_MS : doublingMs(failures - 1, baseMs, capMs)
  return dbTime(tx, Math.max(delayMs, leastMs))
}
