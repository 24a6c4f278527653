import { type RawBuilder, sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import { timeFromMs } from '../../model/time.ts'
import { LogMovedError, requireServer } from '../engine/checked-server.ts'
import type { TableSpec, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { fingerprintOf } from './log-fingerprint.ts'

const changesTable: TableSpec = {
  table: 'changes',
  key: ['seq'],
  columns: {
    seq: 'int',
    account: 'text',
    submission_id: 'text',
    entity: 'text',
    entity_id: 'text',
    operation: 'text',
    changed_at: 'time',
    cause: 'text',
    before: 'json',
    after: 'json',
  },
}

/**
 * Appends to the change log. Must be the last thing a transaction does: it locks the one counter row until the commit, so that numbers
 * become visible in order and none is missing (invariant 9).
 */
export async function appendChanges(tx: Tx, changes: readonly Change[]): Promise<void> {
  const [newest] = changes.slice(-1)
  if (newest === undefined) return
  const server = tx.seen.serverExpression
  const { last_seq, log_epoch, now_on } = await tx.sql
    .updateTable('mirror_info')
    .set({ last_seq: sql<number>`${lastGiven(tx)} + ${sql.lit(changes.length)}` })
    .where('id', '=', 1)
    .returning(['last_seq', 'log_epoch', (server ?? sql<string>`''`).as('now_on')])
    .executeTakeFirstOrThrow()
  if (server !== undefined) requireServer(tx, now_on)
  requireAllSeen(tx, log_epoch, last_seq - changes.length)
  const changed_at = timeFromMs(tx.clock.now())
  const first = last_seq - changes.length + 1
  await tx.insertMany(
    changesTable,
    changes.map((change, index) => ({ seq: first + index, ...change, changed_at })),
  )
  const mark = { seq: last_seq, fingerprint: fingerprintOf({ ...newest, changed_at }), touched: touchedBy(changes) }
  tx.afterCommit(() => tx.seen.add(log_epoch, mark))
  wake(tx, 'changes')
}

/** Refuses to give numbers a second time: this process has seen greater ones of the same epoch. @throws LogMovedError */
function requireAllSeen({ seen }: Tx, logEpoch: string, lastSeq: number): void {
  const known = seen.newest?.seq ?? 0
  if (logEpoch === seen.logEpoch && lastSeq < known)
    throw new LogMovedError(`the change log ends at ${lastSeq}, and change ${known} was committed before`)
}

function touchedBy(changes: readonly Change[]): [account: string, submissionId: string][] {
  const pairs = changes.flatMap(({ account, submission_id }): [string, [string, string]][] =>
    submission_id === null ? [] : [[`${account} ${submission_id}`, [account, submission_id]]],
  )
  return [...new Map(pairs).values()]
}

/**
 * The last assigned number: `last_seq`, or the newest row if somebody has set `last_seq` back (see log-ends.ts), which must not stop
 * everything. After waiting for the lock, `last_seq` includes rows committed meanwhile.
 */
function lastGiven(tx: Tx): RawBuilder<number> {
  const newest = sql`coalesce((select max(seq) from changes), first_seq - 1)`
  // On SQLite somebody may have stored text, which sorts above every number.
  return tx.kind === 'sqlite' ? sql<number>`max(cast(last_seq as integer), ${newest})` : sql<number>`greatest(last_seq, ${newest})`
}
