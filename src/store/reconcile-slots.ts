import type { TimeText } from '../model/time.ts'
import { timeFromMs } from '../model/time.ts'
import type { Db } from './db.ts'
import { insertRun, newRun } from './reconcile-runs.ts'

/** What became of a time of the timetable. */
export type SlotOutcome = 'requested' | 'taken' | 'before' | 'skipped'

/**
 * Asks for the run of a time of the timetable, once, however many processes do (`taken`: another has). A time before the account was
 * first served is none (`before`). While another run of the account is in progress or waits, none is begun (`skipped`), and that is kept.
 */
export async function requestSlot(db: Db, account: string, slot: TimeText): Promise<SlotOutcome> {
  const known = await db.read.sql
    .selectFrom('reconcile_runs')
    .select('run_id')
    .where('account', '=', account)
    .where('slot', '=', slot)
    .executeTakeFirst()
  if (known) return 'taken'
  return db.write('reconcile-slot', async (tx) => {
    const row = await tx.sql.selectFrom('sync_reconcile').select('since').where('account', '=', account).executeTakeFirst()
    if (!row || row.since > slot) return 'before'
    const open = await tx.sql
      .selectFrom('reconcile_runs')
      .select('run_id')
      .where('account', '=', account)
      .where('state', 'in', ['requested', 'running'])
      .limit(1)
      .executeTakeFirst()
    const request = { account, options: {}, requestedBy: 'cron', slot }
    if (!open) return (await insertRun(tx, newRun(tx, request, 'requested'))) ? 'requested' : 'taken'
    const now = timeFromMs(tx.clock.now())
    const note = `run ${open.run_id} was still in progress at that time`
    return (await insertRun(tx, { ...newRun(tx, request, 'stopped'), ended_at: now, exit_code: 4, note })) ? 'skipped' : 'taken'
  })
}
