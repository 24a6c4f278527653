import { type RawBuilder, sql } from 'kysely'
import { entities } from '../../model/entities.ts'
import type { ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { countCapped, distinctIn } from '../engine/sql.ts'

export interface ReadCoverage {
  /** Kind of read, or `extra:` and the name of an extra read. */
  readonly read: string
  /** Number of submissions or ids that need this read. */
  readonly total: number
  /** Number of submissions or ids that were read to the end at least once. */
  readonly done: number
  readonly never: number
  readonly oldest_at: TimeText | null
  readonly median_at: TimeText | null
}

export async function readCoverage(
  q: Query,
  account: string,
  reads: readonly ReadKind[],
): Promise<(ReadCoverage & { readonly read: ReadKind })[]> {
  const all: (ReadCoverage & { readonly read: ReadKind })[] = []
  for (const read of reads)
    all.push({ ...(await coverageOf(q, read, sql`sync_reads where account = ${account} and read = ${sql.lit(read)}`)), read })
  return all
}

/** Reads the coverage of every extra read that is or was configured and has rows. */
export async function extraReadCoverage(q: Query, account: string): Promise<ReadCoverage[]> {
  const names = distinctIn('sync_path_reads', 'name', { where: sql`account = ${account} and path = ''` })
  const rows = await q.all(sql<{ value: string }>`select value from ${names} as known`)
  const all: ReadCoverage[] = []
  for (const { value: name } of rows)
    all.push(await coverageOf(q, `extra:${name}`, sql`sync_path_reads where account = ${account} and path = '' and name = ${name}`))
  return all
}

async function coverageOf(q: Query, read: string, from: RawBuilder<unknown>): Promise<ReadCoverage> {
  const row = await q.one(sql<{ total: number; done: number; oldest: TimeText | null }>`
    select count(*) as total, count(last_read_at) as done, min(last_read_at) as oldest from ${from}`)
  const total = Number(row?.total)
  const done = Number(row?.done)
  const middle = await q.all(sql<{ at: TimeText }>`
    select last_read_at as at from ${from} and last_read_at is not null
    order by last_read_at limit 1 offset ${sql.lit(Math.floor(Math.max(0, done - 1) / 2))}`)
  return { read, total, done, never: total - done, oldest_at: row?.oldest ?? null, median_at: middle[0]?.at ?? null }
}

/**
 * Counts the account's rows in each table of service data, up to `COUNT_CAP`. `read`: the kind of read that
 * fills the table.
 */
export async function tableCoverage(q: Query, account: string) {
  const all = []
  for (const { table, read } of entities) {
    const rows = await countCapped(q, sql`${sql.table(table)} where account = ${account}`)
    all.push({ table, read, rows })
  }
  return all
}

/** Counts an account's documents, and those with a stored file. Each count stops at `COUNT_CAP`. */
export async function documentCoverage(q: Query, account: string): Promise<{ readonly known: number; readonly stored: number }> {
  const of = sql`documents where account = ${account}`
  return { known: await countCapped(q, of), stored: await countCapped(q, sql`${of} and sha256 is not null`) }
}
