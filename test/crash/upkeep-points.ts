import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { timeFromMs } from '../../src/model/time.ts'
import { ACCOUNT } from './checks.ts'
import type { KillPoint } from './points.ts'
import type { CrashRig } from './rig.ts'

const LONG_AGO_MS = 40 * 86_400_000

export const upkeepPoints: readonly KillPoint[] = [
  {
    transaction: 'log-epoch',
    // Simulates a restored backup.
    before: async (rig) => {
      const db = await rig.store()
      await db.write('test', (tx) => tx.run(sql`update sync_log_epochs set origin = 'copy'`))
    },
  },
  { transaction: 'figures', before: () => undefined },
  // Counted soon after a start in another minute or of another process.
  { transaction: 'sums', before: sumsDue },
  { transaction: 'protect', before: protectDue },
  ...['full-reads-requested', 'full-reads-requested-all'].map(
    (transaction): KillPoint => ({ transaction, before: (rig) => afterBreak(rig, false) }),
  ),
  { transaction: 'full-reads-ended', before: (rig) => afterBreak(rig, true) },
  ...['upkeep-claim', 'retention', 'upkeep-end'].map((transaction): KillPoint => ({ transaction, before: retentionDue })),
  {
    transaction: 'upkeep-wait',
    // More rows than one run removes.
    async before(rig) {
      await retentionDue(rig)
      const db = await rig.store()
      const received_at = timeFromMs(Date.now() - LONG_AGO_MS)
      await db.write('test', (tx) => tx.sql.updateTable('sync_inbox').set({ received_at }).execute())
    },
  },
]

/** Each start of `serve` on SQLite stores its token. */
export const markPoints: readonly KillPoint[] = [{ transaction: 'log-instance', before: () => undefined }]

export const commentPoints: readonly KillPoint[] = [
  {
    transaction: 'migrate-comments',
    before: async (rig) => {
      const db = await rig.store()
      await db.write('test', (tx) => tx.run(sql`comment on table submissions is null`))
    },
  },
]

async function sumsDue(rig: CrashRig): Promise<void> {
  const db = await rig.store()
  await db.write('test', (tx) => tx.sql.deleteFrom('sync_upkeep').where('task', '=', 'sums').execute())
}

async function retentionDue(rig: CrashRig): Promise<void> {
  const db = await rig.store()
  const at = timeFromMs(Date.now() - LONG_AGO_MS)
  const old = { account: ACCOUNT, delivery_id: `old ${randomUUID()}`, received_at: at, available_at: at, settled_at: at }
  await db.write('test', async (tx) => {
    await tx.sql.deleteFrom('sync_upkeep').execute()
    await tx.sql
      .insertInto('sync_inbox')
      .values({ ...old, secret: 1, state: 'done', attempts: 1, headers: '{}', body: Buffer.from('{}') })
      .execute()
  })
}

/** A body stored with a tax id, as with `PROTECT=keep`. */
async function protectDue(rig: CrashRig): Promise<void> {
  const db = await rig.store()
  const at = timeFromMs(Date.now())
  const stored = { account: ACCOUNT, delivery_id: `stored ${randomUUID()}`, received_at: at, available_at: at, settled_at: at }
  await db.write('test', async (tx) => {
    await tx.sql.deleteFrom('sync_upkeep').where('task', '=', 'protect').execute()
    await tx.sql
      .insertInto('sync_inbox')
      .values({ ...stored, secret: 1, state: 'done', attempts: 1, headers: '{}', body: Buffer.from('{"fein":"12-3456789"}') })
      .execute()
  })
}

/** Simulates a log divergence: full re-reads are requested, or all have ended. */
async function afterBreak(rig: CrashRig, replayed: boolean): Promise<void> {
  const db = await rig.store()
  const long = timeFromMs(0)
  await db.write('test', (tx) =>
    tx.run(sql`update sync_log_epochs set began_at = ${long}, full_reads_at = ${replayed ? long : null}, fully_read_at = null`),
  )
}
