import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { sql } from 'kysely'
import { timeFromMs } from '../../src/model/time.ts'
import type { FaultInput } from '../../src/sandbox/service/faults.ts'
import { postSigned } from '../e2e/signed.ts'
import { until } from '../tools/until.ts'
import { ACCOUNT } from './checks.ts'
import { addNews, addWork } from './load.ts'
import type { CrashRig } from './rig.ts'

const LOST_AFTER_MS = 900_000

export interface KillPoint {
  readonly transaction: string
  /** The process is killed at this commit of the transaction; default 1. */
  readonly later?: number
  /** The audited action of the transaction: both are stored, or neither. */
  readonly action?: string
  /** Runs while the product is stopped; the next start then begins the transaction. */
  readonly before?: (rig: CrashRig) => Promise<void> | void
  /** Settings of this start and all later ones. */
  readonly settings?: (rig: CrashRig) => Readonly<Record<string, string>>
  readonly faults?: readonly FaultInput[]
  /** Runs while the product runs, if `before` is absent. */
  readonly provoke?: (rig: CrashRig) => Promise<void> | void
}

const DAY_MS = 86_400_000
const MAX_ROUNDS = 50

const nothing = (): void => undefined
const work = (rig: CrashRig): void => void addWork(rig)
const workUnder =
  (...faults: readonly FaultInput[]) =>
  (rig: CrashRig): void => {
    for (const fault of faults) rig.sandbox.faults.add(fault)
    work(rig)
  }
const status = (code: number, over: Partial<FaultInput & { kind: 'status' }> = {}): FaultInput => ({
  kind: 'status',
  status: code,
  ...over,
})
const reads = ['events', 'thread', 'requirements'] as const

export const startPoints: readonly KillPoint[] = [
  { transaction: 'migrate', before: nothing },
  { transaction: 'accounts', before: nothing },
  { transaction: 'process-beat', before: nothing },
  { transaction: 'clock', before: nothing },
  {
    transaction: 'clock-set-back',
    // Simulates a clock that ran ahead.
    async before(rig) {
      const db = await rig.store()
      const ahead = timeFromMs(Date.now() + 1_000 * 86_400_000)
      const row = { process_id: randomUUID(), role: 'work', version: '0', started_at: ahead, seen_at: ahead }
      await db.write('test', async (tx) => {
        await tx.sql.insertInto('sync_processes').values(row).execute()
        await tx.sql.updateTable('sync_upkeep').set({ began_at: ahead }).where('task', '=', 'clock').execute()
      })
    },
  },
  { transaction: 'account-pin', before: nothing },
]

export const inboxPoints: readonly KillPoint[] = [
  { transaction: 'inbox-append', later: 3, provoke: workOn },
  { transaction: 'inbox-claim', later: 3, provoke: workOn },
  { transaction: 'inbox-apply', later: 3, provoke: workOn },
  {
    transaction: 'inbox-reschedule',
    async provoke(rig) {
      await rig.arm('inbox-apply:before-commit 1 refuse')
      work(rig)
    },
  },
  {
    transaction: 'inbox-release',
    async provoke(rig) {
      await rig.arm('inbox-apply:before-commit 1 throw')
      work(rig)
    },
  },
  {
    // Last uses are stored at shutdown.
    transaction: 'last-uses',
    async provoke(rig) {
      const before = rig.acknowledged.size
      work(rig)
      await until('a delivery is acknowledged', () => rig.isThere || rig.acknowledged.size > before)
      rig.askToStop()
    },
  },
  {
    transaction: 'inbox-repeats',
    async provoke(rig) {
      // Repeats each delivery with another body until the process is killed.
      const { webhookSecret } = rig.sandbox.account(ACCOUNT)
      const id = `msg_${randomUUID()}`
      for (let n = 0; n < MAX_ROUNDS; n++) {
        const body = `{"type":"submission.events","n":${n}}`
        await postSigned(`${rig.receiver}/webhooks`, webhookSecret, body, id).catch(nothing)
      }
    },
  },
  {
    // Written one second after the first rejected connection.
    transaction: 'rejected-connections',
    provoke: (rig) => sendNoHttp(rig.receiver),
  },
  {
    transaction: 'rejected-keep',
    async provoke(rig) {
      // Gets no answer if the process is killed in time.
      await postSigned(`${rig.receiver}/webhooks`, `whsec_${Buffer.alloc(32).toString('base64')}`, '{}').catch(nothing)
    },
  },
]

export const readPoints: readonly KillPoint[] = [
  {
    transaction: 'read-shorten',
    // Simulates longer intervals of earlier settings.
    async before(rig) {
      const db = await rig.store()
      const full_read_due_at = timeFromMs(Date.now() + 1_000 * 86_400_000)
      await db.write('test', (tx) => tx.sql.updateTable('sync_reads').set({ full_read_due_at }).execute())
    },
  },
  { transaction: 'read-claim', later: 5, provoke: work },
  { transaction: 'feed-page', later: 4, provoke: workOn },
  { transaction: 'state-read', later: 2, provoke: workOn },
  { transaction: 'read-failed', provoke: workUnder(status(500, { operation: 'events', count: 1 })) },
  { transaction: 'read-not-found', provoke: workUnder(status(404, { operation: 'requirements', count: 1 })) },
  {
    // The third 404 in a row marks the submission.
    transaction: 'read-not-found',
    async before(rig) {
      const db = await rig.store()
      await db.write('test', (tx) => tx.run(sql`update sync_reads set not_found = 2, due_at = ${timeFromMs(0)} where read = 'thread'`))
    },
    faults: [status(404, { operation: 'thread' })],
  },
  { transaction: 'read-declined', before: due, faults: [status(404, { operation: 'workspace', count: 1 })] },
  ...['read-switch', 'read-put-off'].map(
    (transaction): KillPoint => ({
      transaction,
      // Simulates a start whose settings didn't list the read.
      async before(rig) {
        await due(rig)
        const db = await rig.store()
        const off = {
          account: ACCOUNT,
          read: 'sessions',
          cause: 'settings',
          reason: 'a test',
          since: timeFromMs(0),
          retry_at: null,
        } as const
        // The previous point may have left a row.
        await db.write('test', (tx) =>
          tx.sql
            .insertInto('sync_reads_off')
            .values(off)
            .onConflict((conflict) => conflict.columns(['account', 'read']).doUpdateSet(off))
            .execute(),
        )
        await db.write('test', (tx) =>
          tx.run(sql`update sync_reads set due_at = ${timeFromMs(Date.now() + DAY_MS)} where read = 'sessions'`),
        )
      },
    }),
  ),
  { transaction: 'feed-page', before: due, faults: [{ kind: 'invalid_cursor' }] },
  {
    transaction: 'read-release',
    async provoke(rig) {
      const asked = rig.sandbox.activity.requests.length
      workUnder({ kind: 'hang', operation: 'events' })(rig)
      const isAsked = () => rig.sandbox.activity.requests.slice(asked).some((request) => request.operation === 'events')
      await until('events are read', () => rig.isThere || isAsked())
      rig.askToStop()
    },
  },
]

export const accountPoints: readonly KillPoint[] = [
  {
    transaction: 'read-refused',
    provoke(rig) {
      rig.sandbox.tokens.expireAll(ACCOUNT)
      workUnder(status(401, { operation: 'token' }))(rig)
    },
  },
  { transaction: 'account-stop', before: nothing, faults: [status(401, { operation: 'token' })] },
  {
    transaction: 'account-resume',
    async before(rig) {
      const db = await rig.store()
      const suspended = { state: 'suspended', reason: 'a test suspends it', retry_at: timeFromMs(0) } as const
      await db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set(suspended).execute())
    },
  },
  { transaction: 'account-identity-fault', before: nothing, faults: [status(404, { operation: 'me' })] },
  // Only pauses longer than five seconds are stored.
  { transaction: 'account-pause', provoke: workUnder(status(503, { operation: 'events', retryAfterSeconds: 6, count: 1 })) },
  ...['wave-undone', 'not-found-reset'].map(
    (transaction): KillPoint => ({
      transaction,
      before: due,
      faults: reads.map((operation) => status(404, { operation })),
    }),
  ),
  { transaction: 'sweep-take', provoke: nameNothing },
  { transaction: 'sweep', provoke: nameNothing },
  { transaction: 'sweep-end', provoke: nameNothing },
  { transaction: 'lost-after', before: () => undefined },
  {
    transaction: 'lost-webhooks',
    async before(rig) {
      const db = await rig.store()
      const ago = timeFromMs(Date.now() - LOST_AFTER_MS - 1_000)
      const seen = {
        account: ACCOUNT,
        entity: 'market_events',
        submission_id: randomUUID(),
        record_id: randomUUID(),
        way: 'feed',
        first_at: ago,
      }
      await db.write('test', (tx) => tx.sql.insertInto('sync_arrivals').values(seen).execute())
    },
  },
  {
    transaction: 'arrival-counts',
    async before(rig) {
      const db = await rig.store()
      // Makes the product look again.
      await db.write('test', (tx) =>
        tx.sql.updateTable('sync_counters').set({ value: 1 }).where('name', '=', 'arrival_counts_mark').execute(),
      )
    },
  },
  {
    transaction: 'process-leave',
    provoke(rig) {
      for (const id of rig.sandbox.submissionIds(ACCOUNT).slice(0, 3)) addNews(rig, id)
      rig.askToStop()
    },
  },
]

async function sendNoHttp(receiver: string): Promise<void> {
  const socket = connect(Number(new URL(receiver).port), '127.0.0.1')
  socket.on('error', nothing)
  socket.end('no http\r\n\r\n')
  // Not `once` of node:events, which rejects on a reset.
  await new Promise((resolve) => socket.once('close', resolve))
}

export async function workOn(rig: CrashRig): Promise<void> {
  const id = addWork(rig)
  for (let rounds = 0; rounds < MAX_ROUNDS && !rig.isThere; rounds++) {
    const before = rig.acknowledged.size
    addNews(rig, id)
    await until('a delivery is acknowledged', () => rig.isThere || rig.acknowledged.size > before)
  }
}

/** A delivery that names no submission, at a time when the product reads lists. */
async function nameNothing(rig: CrashRig): Promise<void> {
  const db = await rig.store()
  await db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set({ swept_at: null }).execute())
  rig.sandbox.deliver(ACCOUNT, '{"type":"submission.events"}')
}

/** Makes everything due at the next start, and clears not_found before the next kill. */
async function due(rig: CrashRig): Promise<void> {
  for (const id of rig.sandbox.submissionIds(ACCOUNT)) rig.touched.add(id)
  const db = await rig.store()
  await db.write('test', (tx) => tx.run(sql`update sync_reads set due_at = ${timeFromMs(0)}, lease_token = null`))
}
