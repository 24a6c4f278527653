import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { timeFromMs } from '../../src/model/time.ts'
import { ensureDestinations } from '../../src/store/outbox/destinations.ts'
import { requestRun } from '../../src/store/reconcile/claims.ts'

import type { RunOptions } from '../../src/store/schema/reconcile.ts'
import { until } from '../tools/until.ts'
import { ACCOUNT } from './checks.ts'
import { addWork } from './load.ts'
import type { KillPoint } from './points.ts'
import type { CrashRig } from './rig.ts'

export const reconcilePoints: readonly KillPoint[] = [
  { transaction: 'reconcile-accounts', before: () => undefined },
  {
    // A scheduled time at which nothing ran.
    transaction: 'reconcile-slot',
    async before(rig) {
      const db = await rig.store()
      await nothingRuns(rig)
      await db.write('test', async (tx) => {
        await tx.run(sql`delete from reconcile_runs where slot is not null`)
        await tx.run(sql`update sync_reconcile set since = ${timeFromMs(0)}`)
      })
    },
  },
  ...['reconcile-claim', 'reconcile-progress', 'reconcile-end'].map(
    (transaction): KillPoint => ({ transaction, before: (rig) => wanted(rig, {}) }),
  ),
  { transaction: 'reconcile-repair', before: newsThatNobodyTells },
  { transaction: 'reconcile-number', before: newsThatNobodyTells },
  {
    transaction: 'reconcile-findings',
    async before(rig) {
      await newsThatNobodyTells(rig)
      await nothingRuns(rig)
      await wanted(rig, { dry_run: true })
    },
  },
  {
    transaction: 'reconcile-reads',
    async before(rig) {
      const db = await rig.store()
      const id = known(rig)
      await db.write('test', (tx) => tx.sql.deleteFrom('sync_reads').where('submission_id', '=', id).where('read', '=', 'thread').execute())
      await wanted(rig, { submissions: [id] })
    },
  },
  { transaction: 'reconcile-streams', before: streamLost },
  // A start corrects it; so does a concurrent run.
  { transaction: 'log-ends', before: misstatedLog },
  {
    transaction: 'reconcile-log-ends',
    async provoke(rig) {
      await misstatedLog(rig)
      await wanted(rig, {})
    },
  },
  {
    transaction: 'reconcile-release',
    async provoke(rig) {
      await wanted(rig, {})
      const db = await rig.store()
      const claimed = db.read.sql.selectFrom('sync_reconcile').select('lease_token').where('lease_token', 'is not', null)
      rig.sandbox.faults.add({ kind: 'hang', operation: 'requirements' })
      await until('the run is claimed', async () => rig.isThere || (await claimed.execute()).length > 0)
      rig.askToStop()
    },
  },
]

async function wanted(rig: CrashRig, options: RunOptions): Promise<void> {
  await nothingRuns(rig)
  await requestRun(await rig.store(), { account: ACCOUNT, options, requestedBy: 'admin:test' })
}

/** A queued push whose stream was deleted. Its destination isn't in the settings, so nothing sends it. */
async function streamLost(rig: CrashRig): Promise<void> {
  const db = await rig.store()
  const destination = 'elsewhere'
  await ensureDestinations(db, [{ name: destination, start: 'now' }])
  const change = await db.read.sql.selectFrom('changes').selectAll().orderBy('seq', 'desc').limit(1).executeTakeFirstOrThrow()
  const { account, submission_id, entity, entity_id, operation, cause, seq } = change
  const stream = submission_id ?? ''
  const row = { destination, account, stream, submission_id, entity, entity_id, operation, cause, seq, snapshot: null }
  await db.write('test', async (tx) => {
    await tx.sql.deleteFrom('sync_push_streams').where('destination', '=', destination).execute()
    await tx.sql
      .insertInto('sync_outbox')
      .values({ ...row, message_id: randomUUID(), state: 'ready', attempts: 0, uncertain: 0, queued_at: timeFromMs(0) })
      .execute()
  })
  await wanted(rig, { submissions: [stream] })
}

/** Sets the beginning of the change log behind its first row. */
async function misstatedLog(rig: CrashRig): Promise<void> {
  const db = await rig.store()
  await db.write('test', (tx) => tx.run(sql`update mirror_info set first_seq = first_seq + 1`))
}

/** Otherwise a killed run blocks the next one until its lease ends. */
async function nothingRuns(rig: CrashRig): Promise<void> {
  const db = await rig.store()
  await db.write('test', async (tx) => {
    await tx.sql.updateTable('sync_reconcile').set({ lease_token: null, lease_until: null, run_id: null }).execute()
    await tx.run(sql`
      update reconcile_runs set state = 'stopped', ended_at = ${timeFromMs(Date.now())} where state in ('requested', 'running')`)
  })
}

/** A change without a delivery, which the run finds before the poller. */
async function newsThatNobodyTells(rig: CrashRig): Promise<void> {
  const id = known(rig)
  rig.sandbox.addEvent(ACCOUNT, id, { type: 'status_changed' }, { quiet: true })
  rig.sandbox.setFacts(ACCOUNT, id, { marketing_hint: `as of ${Date.now()}` })
  await wanted(rig, {})
  const db = await rig.store()
  const later = timeFromMs(Date.now() + 3_600_000)
  await db.write('test', (tx) => tx.sql.updateTable('sync_reads').set({ due_at: later, lease_token: null }).execute())
}

function known(rig: CrashRig): string {
  const id = rig.sandbox.submissionIds(ACCOUNT)[0] ?? addWork(rig)
  rig.touched.add(id)
  return id
}
