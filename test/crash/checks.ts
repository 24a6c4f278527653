import { expect } from 'vitest'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { checkSchema } from '../../src/store/migrate/migrate.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { differences, inboxRows, logFaults, recordIds, waitFor } from '../e2e/agreement.ts'
import { postSigned } from '../e2e/signed.ts'
import { endBackoffs } from '../e2e/time.ts'

export const ACCOUNT = 'default'
const MAX_PAGES = 1_000

/** What is known outside the database. */
export interface Outside {
  readonly sandbox: Sandbox
  /** The ids of the deliveries that were acknowledged, and of the records in them. */
  readonly acknowledged: ReadonlyMap<string, readonly string[]>
  /** Submissions that something happened to since the last look. */
  readonly touched: ReadonlySet<string>
  /** To look through the service's feeds as they are. */
  readonly client: UpstreamClient
}

/** What must hold in the database of a product that was killed at any moment. */
export async function checkDead(outside: Outside, db: Db): Promise<void> {
  if (!(await isMigrated(db))) {
    expect(outside.acknowledged.size).toBe(0)
    return
  }
  const inbox = new Map((await inboxRows(db)).map((row) => [row['delivery_id'], row['state']]))
  const mirrored = await recordIds(db, ACCOUNT)
  expect(
    [...outside.acknowledged.keys()].filter((id) => !inbox.has(id)),
    'acknowledged and not in the inbox',
  ).toEqual([])
  const settled = [...outside.acknowledged].filter(([id]) => inbox.get(id) === 'done')
  const lost = settled.flatMap(([, itemIds]) => itemIds.filter((id) => !mirrored.has(id)))
  expect(lost, 'settled and not in the mirror').toEqual([])
  expect(await logFaults(db), 'the change log').toEqual([])
  expect(await skipped(outside, db, mirrored), 'before a stored cursor and not in the mirror').toEqual([])
}

/** A delivery that cannot be stored is answered 503, with a time to come again. */
export async function expectRefusal(receiver: string, secret: string): Promise<void> {
  const { status, retryAfter } = await postSigned(`${receiver}/webhooks`, secret, '{"type":"submission.events"}')
  expect(status).toBe(503)
  expect(Number(retryAfter)).toBeGreaterThan(0)
}

/** What must hold when it was started again and has done what was due. @param held leases of the dead. */
export async function checkSettled(outside: Outside, db: Db, sinceMs: number, held: ReadonlySet<string>): Promise<void> {
  const touched = [...outside.touched]
  let left: unknown = 'not everything was done'
  const agreed = await waitFor(async () => {
    // What is acknowledged later has not had its time.
    if (outside.sandbox.stats().deliveriesPending > 0) return false
    await endBackoffs(db, sinceMs, touched)
    if ((await waiting(db, sinceMs, touched)) > 0 || (await stillHeld(db, held)).length > 0) return false
    left = await differences(db, outside.sandbox, ACCOUNT, touched)
    return Array.isArray(left) && left.length === 0
  })
  expect(agreed, String(left)).toBe(true)
  const inbox = new Map((await inboxRows(db)).map((row) => [row['delivery_id'], row['state']]))
  for (const id of outside.acknowledged.keys()) expect(['done', 'aside'], id).toContain(inbox.get(id))
  const mirrored = await recordIds(db, ACCOUNT)
  expect(
    [...outside.acknowledged.values()].flat().filter((id) => !mirrored.has(id)),
    'acknowledged and not in the mirror',
  ).toEqual([])
  expect(await logFaults(db), 'the change log').toEqual([])
}

/** Whether the database has all of its tables: not when a migration was killed, nor between two of them. */
export async function isMigrated(db: Db): Promise<boolean> {
  return checkSchema(db).then(
    () => true,
    () => false,
  )
}

/** All leases on work that is not done. */
export async function leases(db: Db): Promise<Set<string>> {
  if (!(await isMigrated(db))) return new Set()
  const reads = await db.read.sql.selectFrom('sync_reads').select('lease_token').where('lease_token', 'is not', null).execute()
  const inbox = (await inboxRows(db)).filter((row) => row['state'] === 'ready' && row['lease_token'] !== null)
  return new Set([...reads.map((row) => String(row.lease_token)), ...inbox.map((row) => String(row['lease_token']))])
}

async function stillHeld(db: Db, held: ReadonlySet<string>): Promise<string[]> {
  return [...(await leases(db))].filter((token) => held.has(token))
}

/** Accounts that are stopped, deliveries that wait, and reads that were not made since. */
async function waiting(db: Db, sinceMs: number, submissionIds: readonly string[]): Promise<number> {
  const ready = (await inboxRows(db)).filter((row) => row['state'] === 'ready')
  const reads = db.read.sql
    .selectFrom('sync_reads')
    .select('last_read_at')
    .where('submission_id', 'in', ['', ...submissionIds])
  const due = (await reads.execute()).filter((row) => row.last_read_at === null || Date.parse(row.last_read_at) < sinceMs)
  const stopped = await db.read.sql.selectFrom('sync_accounts').select('account').where('state', '<>', 'active').execute()
  return ready.length + due.length + stopped.length
}

/** Walks each feed from its stored cursor: what lies before it, and was there, is in the mirror. */
async function skipped(outside: Outside, db: Db, mirrored: ReadonlySet<string>): Promise<string[]> {
  const cursors = await db.read.sql
    .selectFrom('sync_reads')
    .select(['submission_id', 'read', 'cursor'])
    .where('cursor', 'is not', null)
    .execute()
  const missing: string[] = []
  for (const { submission_id, read, cursor } of cursors) {
    if (!outside.touched.has(submission_id)) continue
    const behind = await walk(outside.client, submission_id, read === 'events' ? 'events' : 'thread', cursor)
    const all = await walk(outside.client, submission_id, read === 'events' ? 'events' : 'thread', null)
    missing.push(...[...all].filter((id) => !behind.has(id) && !mirrored.has(id)))
  }
  return missing
}

async function walk(client: UpstreamClient, submissionId: string, feed: 'events' | 'thread', since: string | null): Promise<Set<string>> {
  const ids = new Set<string>()
  let cursor = since
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await client[feed](submissionId, cursor)
    for (const item of page.items) ids.add((item as { id: string }).id)
    if (page.nextCursor === null) return ids
    cursor = page.nextCursor
  }
  throw new Error(`${feed} of ${submissionId} does not end`)
}
