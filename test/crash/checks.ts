import { sql } from 'kysely'
import { expect } from 'vitest'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { checkSchema } from '../../src/store/migrate/migrate.ts'
import type { Columns } from '../../src/store/schema/tables.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { differences, inboxRows, logFaults, recordIds, waitFor } from '../e2e/agreement.ts'
import { postSigned } from '../e2e/signed.ts'
import { endBackoffs } from '../e2e/time.ts'

export const ACCOUNT = 'default'
const MAX_PAGES = 1_000

export interface Outside {
  readonly sandbox: Sandbox
  /** Ids of acknowledged deliveries, with the ids of their records. */
  readonly acknowledged: ReadonlyMap<string, readonly string[]>
  /** Submissions changed since the last check. */
  readonly touched: ReadonlySet<string>
  readonly client: UpstreamClient
}

/** Checks the database of a product that was killed at any moment. */
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

export async function expectRefusal(receiver: string, secret: string): Promise<void> {
  const { status, retryAfter } = await postSigned(`${receiver}/webhooks`, secret, '{"type":"submission.events"}')
  expect(status).toBe(503)
  expect(Number(retryAfter)).toBeGreaterThan(0)
}

/** Checks the database after the product restarted and finished its work. @param held leases of killed processes. */
export async function checkSettled(outside: Outside, db: Db, sinceMs: number, held: ReadonlySet<string>): Promise<void> {
  const touched = [...outside.touched]
  let left: unknown
  const agreed = await waitFor(async () => {
    // Deliveries acknowledged later haven't been applied yet.
    const { deliveriesPending } = outside.sandbox.stats()
    left = `${deliveriesPending} deliveries are pending at the service`
    if (deliveriesPending > 0) return false
    await endBackoffs(db, sinceMs, { submissionIds: touched })
    const unfinished = [...(await waiting(db, sinceMs, touched)), ...(await stillHeld(db, held)).map((token) => `lease ${token}`)]
    left = unfinished.join('\n')
    if (unfinished.length > 0) return false
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

/** False if a migration was killed, or between two migrations. */
export async function isMigrated(db: Db): Promise<boolean> {
  return checkSchema(db).then(
    () => true,
    () => false,
  )
}

export async function leases(db: Db): Promise<Set<string>> {
  if (!(await isMigrated(db))) return new Set()
  const reads = await db.read.sql.selectFrom('sync_reads').select('lease_token').where('lease_token', 'is not', null).execute()
  const inbox = (await inboxRows(db)).filter((row) => row['state'] === 'ready' && row['lease_token'] !== null)
  return new Set([...reads.map((row) => String(row.lease_token)), ...inbox.map((row) => String(row['lease_token']))])
}

async function stillHeld(db: Db, held: ReadonlySet<string>): Promise<string[]> {
  return [...(await leases(db))].filter((token) => held.has(token))
}

/** Unfinished work, described for the error message. */
async function waiting(db: Db, sinceMs: number, submissionIds: readonly string[]): Promise<string[]> {
  const ready = (await inboxRows(db)).filter((row) => row['state'] === 'ready')
  const reads = db.read.sql
    .selectFrom('sync_reads')
    .select(['submission_id', 'read', 'last_read_at', 'due_at', 'lease_token'])
    .where('id', '=', '')
    .where('submission_id', 'in', ['', ...submissionIds])
  const due = (await reads.execute()).filter((row) => row.last_read_at === null || Date.parse(row.last_read_at) < sinceMs)
  const stopped = await db.read.sql
    .selectFrom('sync_accounts')
    .select(['account', 'state', 'retry_at'])
    .where('state', '<>', 'active')
    .execute()
  return [...ready, ...due, ...stopped].map((row) => JSON.stringify(row))
}

/** Reads each feed from its stored cursor; every earlier record is in the mirror. */
async function skipped(outside: Outside, db: Db, mirrored: ReadonlySet<string>): Promise<string[]> {
  const cursors = await db.read.all(sql<Columns<'sync_reads', 'submission_id' | 'read' | 'cursor'>>`
    select submission_id, read, cursor from sync_reads where cursor is not null`)
  const missing: string[] = []
  for (const { submission_id, read, cursor } of cursors) {
    if (!outside.touched.has(submission_id)) continue
    const behind = await readFeed(outside.client, submission_id, read === 'events' ? 'events' : 'thread', cursor)
    const all = await readFeed(outside.client, submission_id, read === 'events' ? 'events' : 'thread', null)
    missing.push(...[...all].filter((id) => !behind.has(id) && !mirrored.has(id)))
  }
  return missing
}

async function readFeed(
  client: UpstreamClient,
  submissionId: string,
  feed: 'events' | 'thread',
  since: string | null,
): Promise<Set<string>> {
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
