import { sql } from 'kysely'
import { doublingMs } from '../../base/clock.ts'
import { storableText } from '../../model/json.ts'
import type { Db, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime } from '../engine/sql.ts'

/**
 * Maximum delay between probes of a suspended destination. The first 20 probes (about 9 minutes) have the first limit,
 * later probes the second.
 */
const [FIRST_DELAYS_MS, LATER_DELAYS_MS] = [30_000, 300_000]
const FIRST_PROBES = 20
/** Delay in ms between probes after the target rejected the login. */
const LOGIN_DELAY_MS = 900_000

/** When to probe a suspended destination. */
export interface ProbeDelay {
  /**
   * `soon`: after growing delays. `slowly`: every 15 minutes. `manually`: only after an operator resumes the
   * destination or the settings change.
   */
  readonly retry: 'soon' | 'slowly' | 'manually'
  /** First delay in ms. Each later delay is twice the previous one, up to a maximum. */
  readonly baseMs: number
  /** Minimum delay in ms that the target requested; 0 if none. */
  readonly leastMs: number
}

export interface Suspension extends ProbeDelay {
  readonly reason: string
  /** Fingerprint of the settings in use when the target rejected the requests. */
  readonly refusedWith: string
}

/**
 * Suspends a destination, or schedules the next probe if the destination is already suspended. Doesn't change
 * a paused destination.
 */
export async function suspendDestination(db: Db, name: string, suspension: Suspension): Promise<void> {
  const { reason, refusedWith } = suspension
  await db.write('destination-state', async (tx) => {
    const row = await readState(tx, name)
    if (row === undefined || row.state === 'paused') return
    const failures = row.state === 'suspended' ? row.failures + 1 : 1
    await tx.run(sql`
      update sync_destinations set state = 'suspended', reason = ${storableText(reason)}, failures = ${failures}, refused_with = ${refusedWith},
        since = case when state = 'suspended' then coalesce(since, ${dbTime(tx)}) else ${dbTime(tx)} end, retry_at = ${retryAt(tx, failures, suspension)}
      where destination = ${name}`)
  })
}

/**
 * Schedules the next probe of a suspended destination. Call this if the last probe didn't show whether
 * the endpoint works.
 */
export async function postponeProbe(db: Db, name: string, delay: ProbeDelay): Promise<void> {
  await db.write('destination-state', async (tx) => {
    const row = await readState(tx, name)
    if (row?.state !== 'suspended') return
    const failures = row.failures + 1
    await tx.run(
      sql`update sync_destinations set failures = ${failures}, retry_at = ${retryAt(tx, failures, delay)} where destination = ${name}`,
    )
  })
}

/** Makes a suspended destination active again. Call this when its endpoint accepts requests. */
export async function endSuspension(db: Db, name: string): Promise<void> {
  await db.write('destination-state', (tx) => activate(tx, name))
}

/**
 * Makes the next probe of a suspended destination due now. Call this if the last probe sent nothing or
 * the settings changed.
 */
export async function probeNow(db: Db, name: string): Promise<void> {
  await db.write('destination-state', async (tx) => {
    await tx.run(sql`update sync_destinations set retry_at = ${dbTime(tx)} where destination = ${name} and state = 'suspended'`)
    wake(tx, 'outbox')
  })
}

/**
 * Claims the due probe of a suspended destination. If all streams are blocked or there are none, makes the destination
 * active, because there is nothing to probe with.
 * @param leaseMs delay in ms until the next probe, if the outcome of this probe isn't stored.
 * @returns whether the caller may send a probe.
 */
export async function takeProbe(tx: Tx, name: string, leaseMs: number): Promise<boolean> {
  const updated = await tx.run(sql`
    update sync_destinations set retry_at = ${dbTime(tx, leaseMs)}
    where destination = ${name} and state = 'suspended' and retry_at <= ${dbTime(tx)}`)
  if (updated === 0) return false
  if (await tx.exists(sql`select 1 from sync_push_streams where destination = ${name} and blocked is null limit 1`)) return true
  await activate(tx, name)
  return false
}

/** Makes a claimed probe due again. Call this if nothing was sent because no stream was due. */
export async function returnProbe(tx: Tx, name: string): Promise<void> {
  await tx.run(sql`update sync_destinations set retry_at = ${dbTime(tx)} where destination = ${name} and state = 'suspended'`)
}

async function activate(tx: Tx, name: string): Promise<void> {
  await tx.run(sql`
    update sync_destinations set state = 'active', reason = null, since = null, retry_at = null, failures = 0, refused_with = null
    where destination = ${name} and state = 'suspended'`)
  wake(tx, 'outbox')
}

async function readState(tx: Tx, name: string) {
  return await tx.sql.selectFrom('sync_destinations').select(['state', 'failures']).where('destination', '=', name).executeTakeFirst()
}

function retryAt(tx: Tx, failures: number, { retry, baseMs, leastMs }: ProbeDelay) {
  if (retry === 'manually') return sql`null`
  const capMs = failures <= FIRST_PROBES ? FIRST_DELAYS_MS : LATER_DELAYS_MS
  const delayMs = retry === 'slowly' ? LOGIN_DELAY_MS : doublingMs(failures - 1, baseMs, capMs)
  return dbTime(tx, Math.max(delayMs, leastMs))
}
