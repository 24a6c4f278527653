import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { parseExact } from '../../model/exact-json.ts'
import { idsUnder } from '../../model/ids-under.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, keepNewest, timeValue } from '../engine/sql.ts'
import { addReadRequests, type Wake } from '../reads/reads.ts'
import type { Columns } from '../schema/tables.ts'
import { bodyPlace } from './work.ts'

export interface GivenDelivery {
  readonly account: string
  readonly deliveryId: string
  readonly body: Buffer
}

/** A verified delivery whose id is already stored. The bodies differ, or the stored body was removed. */
export interface DifferingDelivery {
  readonly account: string
  readonly deliveryId: string
  readonly bodySha256: string
  /** false if the bodies couldn't be compared, because the stored body was removed. */
  readonly isCompared: boolean
}

interface Differing extends DifferingDelivery {
  readonly submissionIds: readonly string[]
}

interface StoredDelivery {
  readonly account: string
  readonly delivery_id: string
  readonly submission_id: string | null
  readonly state: string
  readonly body: Buffer | null
}

/** Maximum rows in `sync_differing_deliveries`. If there are more, the rows with the oldest `last_at` are deleted. */
const MAX_ROWS = 10_000
const FEEDS = ['events', 'thread'] as const

/**
 * Compares deliveries with the stored deliveries of the same id. If a stored delivery is dead, makes it ready again.
 * If the bodies differ or the stored body was removed, stores the hash of the new body. Then also requests feed reads
 * of the stored delivery's submission and of the submissions in the new body. The feeds show which content is right.
 * @param given the arrived deliveries, new or repeated.
 * @returns the deliveries whose body differs from the stored body, or whose stored body was removed.
 * @throws TransientError if the database is unreachable.
 */
export async function noteRepeats(db: Db, given: readonly GivenDelivery[]): Promise<readonly DifferingDelivery[]> {
  const found: Differing[] = []
  const dead: GivenDelivery[] = []
  for (const account of new Set(given.map((delivery) => delivery.account))) {
    const ofAccount = given.filter((delivery) => delivery.account === account)
    const stored = new Map((await storedAs(db.read, account, ofAccount)).map((row) => [row.delivery_id, row]))
    dead.push(...ofAccount.filter(({ deliveryId }) => stored.get(deliveryId)?.state === 'dead'))
    found.push(...ofAccount.flatMap((delivery) => difference(db, delivery, stored.get(delivery.deliveryId)) ?? []))
  }
  if (found.length + dead.length > 0) await db.write('inbox-repeats', (tx) => keep(tx, found, dead))
  return found
}

function storedAs(q: Query, account: string, deliveries: readonly GivenDelivery[]): Promise<StoredDelivery[]> {
  return q.all(sql<Columns<'sync_inbox', 'account' | 'delivery_id' | 'submission_id' | 'state' | 'body'>>`
    select account, delivery_id, submission_id, state, body from sync_inbox where account = ${account}
    and delivery_id in (${sql.join(deliveries.map(({ deliveryId }) => deliveryId))})`)
}

function difference(db: Db, delivery: GivenDelivery, stored: StoredDelivery | undefined): Differing | null {
  if (stored === undefined || (stored.body !== null && isSame(db, delivery, stored.body))) return null
  const { account, deliveryId, body } = delivery
  const submissionIds = new Set(submissionsNamedIn(body))
  if (stored.submission_id !== null) submissionIds.add(stored.submission_id)
  const bodySha256 = createHash('sha256').update(body).digest('hex')
  return { account, deliveryId, bodySha256, isCompared: stored.body !== null, submissionIds: [...submissionIds] }
}

/** Compares a body with a stored body. In the stored body, tax ids may be dropped or encrypted. */
function isSame({ protection }: Db, delivery: GivenDelivery, stored: Buffer): boolean {
  const { body } = delivery
  if (stored.equals(body)) return true
  const place = bodyPlace(delivery)
  return protection.revealBytes(stored, place).equals(body) || protection.bytes(body, place).equals(stored)
}

function submissionsNamedIn(body: Buffer): readonly string[] {
  try {
    return idsUnder(parseExact(body.toString('utf8')), ['submission_id']).ids.get('submission_id') ?? []
  } catch {
    return []
  }
}

async function keep(tx: Tx, found: readonly Differing[], dead: readonly GivenDelivery[]): Promise<void> {
  await revive(tx, dead)
  const wakes: Wake[] = []
  // All processes insert in key order. Otherwise, two processes could deadlock.
  for (const { account, deliveryId, bodySha256, isCompared, submissionIds } of [...found].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    await tx.run(sql`
      insert into sync_differing_deliveries (account, delivery_id, body_sha256, first_at, last_at, times, is_compared)
      values (${account}, ${deliveryId}, ${bodySha256}, ${dbTime(tx)}, ${dbTime(tx)}, 1, ${sql.lit(isCompared ? 1 : 0)})
      on conflict (account, delivery_id, body_sha256) do update
        set times = sync_differing_deliveries.times + 1, last_at = excluded.last_at`)
    for (const submissionId of submissionIds) for (const read of FEEDS) wakes.push({ account, submissionId, read })
  }
  await keepNewest(tx, 'sync_differing_deliveries', 'last_at', MAX_ROWS)
  await addReadRequests(tx, wakes)
}

function keyOf({ account, deliveryId, bodySha256 }: DifferingDelivery): string {
  return `${account} ${deliveryId} ${bodySha256}`
}

/**
 * Counts an account's repeated deliveries whose body differed from the stored body.
 * Counts all arrivals of a body if its newest arrival was after `since`. Ignores other bodies.
 */
export async function differingSince(q: Query, account: string, since: TimeText): Promise<number> {
  return await q.count(sql<{ n: number | null }>`
    select cast(sum(times) as integer) as n from sync_differing_deliveries
    where account = ${account} and is_compared = 1 and last_at > ${timeValue(q, since)}`)
}

/** Makes dead deliveries ready again. Deliveries in other states don't change. */
export async function revive(tx: Tx, deliveries: readonly GivenDelivery[]): Promise<void> {
  if (deliveries.length === 0) return
  for (const delivery of deliveries) {
    await tx.run(sql`
      update sync_inbox set state = 'ready', attempts = 0, available_at = ${dbTime(tx)}, lease_token = null, error = null,
      settled_at = null, body = coalesce(body, ${delivery.body}) where account = ${delivery.account}
      and delivery_id = ${delivery.deliveryId} and state = 'dead'`)
  }
  wake(tx, 'inbox')
}
