import { sql } from 'kysely'
import { BusyError, PermanentError, UsageError } from '../../base/errors.ts'
import { leaveEpochHome, takeEpochHome } from '../changes/log-epoch.ts'
import type { Db, Query } from '../engine/db.ts'
import { auditedDb, insertNote } from '../operators/actions.ts'
import { listProcesses, type ProcessRole } from '../upkeep/processes.ts'
import { type CopiedRow, continueNumbers, insertRows, lastNumber, readRows } from './copied-rows.ts'
import { type CopiedTable, copiedTables } from './copied-tables.ts'
import { sumOf } from './copy-check.ts'
import { beginProgress, endProgress, forgetProgress, noteProgress, readProgress } from './copy-progress.ts'

/** The two databases of a copy, both of the same schema version, one of them Postgres. */
export interface CopyParts {
  readonly source: Db
  readonly target: Db
  readonly signal: AbortSignal
  /** Called for each table, when its rows are there, and when they were compared. */
  readonly onTable: (done: 'copied' | 'verified', table: string, rows: number) => void
}

export interface Copied {
  /** How many rows each table has, in both databases. */
  readonly rows: Readonly<Record<string, number>>
  /** false while a process receives deliveries into the source: the target may not be served yet. */
  readonly isComplete: boolean
}

/** Rows of one transaction. It begins small, for a row may be large, and grows while the pages stay light. */
const FIRST_PAGE = 16
const LARGEST_PAGE = 1_000
const PAGE_BYTES = 2_000_000

/**
 * Copies a mirror into another database: with its ids, change log, cursors, inbox and outbox, so that readers and destinations go on where they
 * are. Every table is compared afterwards; one that differs is copied once more. An interrupted copy goes on where it was. When it is complete,
 * the target carries the change log on, and the source begins another one should it ever be served again.
 * @throws UsageError when the target holds something else; BusyError when a process works on the source; PermanentError when a table differs.
 */
export async function copyDatabase(parts: CopyParts): Promise<Copied> {
  const { source, target, signal, onTable } = parts
  await isReceived(source.read)
  const tables = await copiedTables(source.kind === 'postgres' ? source.read : target.read)
  await begin(source, target)
  for (const table of tables) onTable('copied', table.name, await copyTable(parts, table))
  const rows: Record<string, number> = {}
  const changing: string[] = []
  for (const table of tables) {
    const count = await verify(parts, table)
    if (count === null) changing.push(table.name)
    else {
      rows[table.name] = count
      onTable('verified', table.name, count)
    }
  }
  signal.throwIfAborted()
  if (await isReceived(source.read)) return { rows, isComplete: false }
  if (changing.length > 0) throw new PermanentError(`${changing.join(', ')} differ after having been copied twice; run the copy again`)
  await complete(source, target, tables)
  return { rows, isComplete: true }
}

/** Whether a process receives into the source. @throws BusyError when one does more than that. */
async function isReceived(q: Query): Promise<boolean> {
  const processes = await listProcesses(q)
  const working = processes.find(({ role }) => role !== ('receive' satisfies ProcessRole))
  if (working === undefined) return processes.length > 0
  const seen = 'a process that was killed is forgotten after 20 s'
  throw new BusyError(`a process works on the database (role ${working.role}): stop it, or run \`serve --role receive\` meanwhile; ${seen}`)
}

async function begin(source: Db, target: Db): Promise<void> {
  const { log_epoch: epoch } = await source.read.sql.selectFrom('mirror_info').select('log_epoch').executeTakeFirstOrThrow()
  const progress = await readProgress(target.read)
  if (progress?.source === epoch) return
  if (progress !== null) throw new UsageError(['--to holds an unfinished copy of another database; name an empty one'])
  if (await isUsed(target.read)) throw new UsageError(['--to holds a mirror already; name an empty database, or another --schema'])
  await target.write('copy-begin', (tx) => beginProgress(tx, epoch))
}

async function isUsed(q: Query): Promise<boolean> {
  const used = (table: string) => sql`select 1 from ${sql.table(table)}`
  const tables = ['submissions', 'changes', 'sync_inbox', 'sync_accounts', 'sync_destinations']
  const { rows } = await sql`select 1 where ${sql.join(
    tables.map((table) => sql`exists (${used(table)})`),
    sql` or `,
  )}`.execute(q.sql)
  return rows.length > 0
}

/** @returns how many rows were copied now. */
async function copyTable({ source, target, signal }: CopyParts, table: CopiedTable): Promise<number> {
  let after = (await readProgress(target.read))?.behind.get(table.name) ?? null
  let [count, limit] = [0, FIRST_PAGE]
  for (;;) {
    signal.throwIfAborted()
    const page = await readRows(source.read, table, after, limit)
    const last = page.at(-1)
    const isFirst = after === null
    await target.write(
      'copy-page',
      async (tx) => {
        // Migrations have written some rows of their own.
        if (isFirst) await sql`delete from ${sql.table(table.name)}`.execute(tx.sql)
        await insertRows(tx, table, page)
        if (last !== undefined) await noteProgress(tx, table.name, keyOf(table, last))
      },
      { noTimeout: true },
    )
    count += page.length
    if (last === undefined || page.length < limit) return count
    after = keyOf(table, last)
    limit = bytesOf(page) > PAGE_BYTES ? Math.max(1, Math.floor(limit / 4)) : Math.min(limit * 2, LARGEST_PAGE)
  }
}

function keyOf({ key }: CopiedTable, row: CopiedRow): CopiedRow {
  return Object.fromEntries(key.map((column) => [column, row[column] ?? null]))
}

/** About how much a page holds. */
function bytesOf(page: readonly CopiedRow[]): number {
  const lengths = page
    .flatMap((row) => Object.values(row))
    .map((value) => (typeof value === 'string' || value instanceof Uint8Array ? value.length : 0))
  return lengths.reduce((sum, length) => sum + length, 0)
}

/** @returns how many rows both have; null when they still differ after a second copy, as while something is received. */
async function verify(parts: CopyParts, table: CopiedTable): Promise<number | null> {
  for (const isLast of [false, true]) {
    const [from, to] = [await sumOf(parts.source.read, table, parts.signal), await sumOf(parts.target.read, table, parts.signal)]
    if (from.rows === to.rows && from.sum === to.sum) return from.rows
    if (isLast) break
    // Its rows changed since they were copied, before an interruption or by what is received.
    await parts.target.write('copy-again', (tx) => forgetProgress(tx, table.name))
    await copyTable(parts, table)
  }
  return null
}

/** Both databases tell of the copy. */
async function complete(source: Db, target: Db, tables: readonly CopiedTable[]): Promise<void> {
  const note = { who: 'command', action: 'database.copy', target: target.kind, detail: { from: source.kind } }
  // First, so that two databases never claim the log. A copy that is interrupted behind this can be made again.
  const noted = auditedDb(source, note)
  await noted.write('copy-leave', leaveEpochHome)
  const numbers = await Promise.all(tables.map((table) => lastNumber(source.read, table)))
  await target.write('copy-end', async (tx) => {
    for (const [index, table] of tables.entries()) await continueNumbers(tx, table, numbers[index] ?? null)
    await insertNote(tx, note, 'done')
    await takeEpochHome(tx)
    await endProgress(tx)
  })
}
