import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { BusyError, PermanentError, UsageError } from '../../base/errors.ts'
import { canonicalJson } from '../../model/json.ts'
import { parseTime } from '../../model/time.ts'
import { adoptEpoch, releaseEpoch } from '../changes/log-epoch.ts'
import type { Db, Query } from '../engine/db.ts'
import { auditedDb, insertNote } from '../operators/actions.ts'
import { listProcesses, type ProcessRole } from '../upkeep/processes.ts'
import { type CopiedRow, type CopiedValue, continueNumbers, insertRows, lastNumber, readRows } from './copied-rows.ts'
import { type CopiedKind, type CopiedTable, copiedTables } from './copied-tables.ts'
import { beginProgress, endProgress, forgetProgress, readProgress, recordProgress } from './copy-progress.ts'

/** The two databases of a copy. Both have the same schema version, and at least one is Postgres. */
export interface CopyParts {
  readonly source: Db
  readonly target: Db
  readonly signal: AbortSignal
  readonly onTable: (done: 'copied' | 'verified', table: string, rows: number) => void
}

export interface Copied {
  /** Number of rows by table, equal in both databases. */
  readonly rows: Readonly<Record<string, number>>
  /**
   * false if a `receive` process still uses the source. The copy is then unfinished, and `serve` can't use the target.
   */
  readonly isComplete: boolean
}

/**
 * Rows per transaction. Each table starts with `FIRST_PAGE` rows, because rows may be large.
 * The number doubles up to `LARGEST_PAGE`. After a page with more than `PAGE_BYTES`, the number is divided by 4.
 */
const FIRST_PAGE = 16
const LARGEST_PAGE = 1_000
const PAGE_BYTES = 2_000_000

/**
 * Copies a mirror into an empty database: ids, change log, cursors, inbox, and outbox. Resumes an interrupted copy.
 * Then compares every table. If a table differs, copies the table a second time.
 * When the copy is complete, readers, destinations, and the change log continue in the target.
 * If `serve` uses the source again, the source begins a new log epoch.
 * @throws UsageError if the target has a mirror, or an unfinished copy of another source; BusyError if a process other
 * than `receive` uses the source; PermanentError if a table differs after the second copy.
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

/**
 * Checks which processes use the source.
 * @returns true if a `receive` process uses the source.
 * @throws BusyError if a process with another role uses the source.
 */
async function isReceived(q: Query): Promise<boolean> {
  const processes = await listProcesses(q)
  const working = processes.find(({ role }) => role !== ('receive' satisfies ProcessRole))
  if (working === undefined) return processes.length > 0
  const seen = 'a process that was killed is forgotten after 20 s'
  throw new BusyError(
    `a process works on the database (role ${working.role}): stop it, or run only \`serve --role receive\` during the copy; ${seen}`,
  )
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
  const tables = ['submissions', 'changes', 'sync_inbox', 'sync_accounts', 'sync_destinations']
  const hasRows = tables.map((table) => sql`exists (select 1 from ${sql.table(table)})`)
  return await q.exists(sql`select 1 where ${sql.join(hasRows, sql` or `)}`)
}

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
        if (isFirst) await tx.run(sql`delete from ${sql.table(table.name)}`)
        await insertRows(tx, table, page)
        if (last !== undefined) await recordProgress(tx, table.name, keyOf(table, last))
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

function bytesOf(page: readonly CopiedRow[]): number {
  const lengths = page
    .flatMap((row) => Object.values(row))
    .map((value) => (typeof value === 'string' || value instanceof Uint8Array ? value.length : 0))
  return lengths.reduce((sum, length) => sum + length, 0)
}

/**
 * Compares a table in both databases. If the table differs, copies the table a second time.
 * @returns the row count; null if the table differs after the second copy, for example because deliveries arrive.
 */
async function verify(parts: CopyParts, table: CopiedTable): Promise<number | null> {
  for (const isLast of [false, true]) {
    const [from, to] = [await sumOf(parts.source.read, table, parts.signal), await sumOf(parts.target.read, table, parts.signal)]
    if (from.rows === to.rows && from.sum === to.sum) return from.rows
    if (isLast) break
    await parts.target.write('copy-again', (tx) => forgetProgress(tx, table.name))
    await copyTable(parts, table)
  }
  return null
}

/** Makes the target the owner of the change log. Adds an audit entry to both databases. */
async function complete(source: Db, target: Db, tables: readonly CopiedTable[]): Promise<void> {
  const note = { who: 'command', action: 'database.copy', target: target.kind, detail: { from: source.kind } }
  // The source releases the log first, so the log never has two owners. If the process stops before the target owns the
  // log, run the copy again.
  const noted = auditedDb(source, note)
  await noted.write('copy-leave', releaseEpoch)
  const numbers = await Promise.all(tables.map((table) => lastNumber(source.read, table)))
  await target.write('copy-end', async (tx) => {
    for (const [index, table] of tables.entries()) await continueNumbers(tx, table, numbers[index] ?? null)
    await insertNote(tx, note, 'done')
    await adoptEpoch(tx)
    await endProgress(tx)
  })
}

/** Row count and checksum of a table. The order of the rows doesn't change the checksum. */
interface TableSum {
  readonly rows: number
  /** Sum of the row hashes, modulo 2^64. */
  readonly sum: bigint
}

const PAGE = 500

export async function sumOf(q: Query, table: CopiedTable, signal: AbortSignal): Promise<TableSum> {
  let [rows, sum]: [number, bigint] = [0, 0n]
  let after: CopiedRow | null = null
  for (;;) {
    signal.throwIfAborted()
    const page: CopiedRow[] = await readRows(q, table, after, PAGE)
    for (const row of page) sum = BigInt.asUintN(64, sum + hashOf(table, row))
    rows += page.length
    after = page.at(-1) ?? null
    if (page.length < PAGE || after === null) return { rows, sum }
  }
}

function hashOf({ columns }: CopiedTable, row: CopiedRow): bigint {
  const values = Object.entries(columns).map(([column, kind]) => comparable(kind, row[column] ?? null))
  return createHash('sha256').update(JSON.stringify(values)).digest().readBigUInt64BE()
}

/**
 * Brings a value into the same form for both databases. Postgres changes the key order of JSON and the format of times.
 */
function comparable(kind: CopiedKind, value: CopiedValue): unknown {
  if (kind === 'time' && typeof value === 'string') return parseTime(value) ?? value
  if (value instanceof Uint8Array) return createHash('sha256').update(value).digest('hex')
  return kind === 'json' ? canonicalJson(value) : value
}
