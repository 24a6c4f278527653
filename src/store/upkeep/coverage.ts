import { type RawBuilder, sql } from 'kysely'
import { entities } from '../../model/entities.ts'
import { idReads, type ReadKind, readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { distinctIn } from '../engine/sql.ts'
import { countCapped } from './gauges.ts'

/** How far one read of an account has come, and how old it is. */
export interface ReadCoverage {
  /** A kind of read; `extra:` and the name of an extra read. */
  readonly read: string
  /** What it is made for: submissions, or the ids that are known. */
  readonly total: number
  /** Of these, the ones that were read to the end. */
  readonly done: number
  readonly never: number
  readonly oldest_at: TimeText | null
  readonly median_at: TimeText | null
}

/** @returns the reads of submissions, by index. */
export async function submissionReads(q: Query, account: string): Promise<(ReadCoverage & { readonly read: ReadKind })[]> {
  const all: (ReadCoverage & { readonly read: ReadKind })[] = []
  for (const read of readKinds)
    all.push({ ...(await coverageOf(q, read, sql`sync_reads where account = ${account} and read = ${sql.lit(read)}`)), read })
  return all
}

/** @returns the reads by id. */
export async function idReadCoverage(q: Query, account: string): Promise<(ReadCoverage & { readonly read: ReadKind })[]> {
  const all: (ReadCoverage & { readonly read: ReadKind })[] = []
  for (const read of idReads) {
    const from = sql`sync_known_ids where account = ${account} and kind = ${sql.lit(read)}`
    all.push({ ...(await coverageOf(q, read, from)), read })
  }
  return all
}

/** @returns the extra reads that were ever scheduled. */
export async function extraReadCoverage(q: Query, account: string): Promise<ReadCoverage[]> {
  const names = distinctIn('sync_path_reads', 'name', { where: sql`account = ${account} and path = ''` })
  const { rows } = await sql<{ value: string }>`select value from ${names} as known`.execute(q.sql)
  const all: ReadCoverage[] = []
  for (const { value: name } of rows)
    all.push(await coverageOf(q, `extra:${name}`, sql`sync_path_reads where account = ${account} and path = '' and name = ${name}`))
  return all
}

async function coverageOf(q: Query, read: string, from: RawBuilder<unknown>): Promise<ReadCoverage> {
  const { rows } = await sql<{ total: number; done: number; oldest: TimeText | null }>`
    select count(*) as total, count(last_read_at) as done, min(last_read_at) as oldest from ${from}`.execute(q.sql)
  const total = Number(rows[0]?.total)
  const done = Number(rows[0]?.done)
  const middle = await sql<{ at: TimeText }>`
    select last_read_at as at from ${from} and last_read_at is not null
    order by last_read_at limit 1 offset ${sql.lit(Math.floor(Math.max(0, done - 1) / 2))}`.execute(q.sql)
  return { read, total, done, never: total - done, oldest_at: rows[0]?.oldest ?? null, median_at: middle.rows[0]?.at ?? null }
}

/** Rows of the tables of service data, counted up to `COUNT_CAP`, and the read that brings them. */
export async function tableCoverage(q: Query, account: string) {
  const all = []
  for (const { table, read } of entities) {
    const rows = await countCapped(q, sql`${sql.table(table)} where account = ${account}`)
    all.push({ table, read, rows })
  }
  return all
}

/** Documents that are known, and those whose file is stored, each counted up to `COUNT_CAP`. */
export async function documentCoverage(q: Query, account: string): Promise<{ readonly known: number; readonly stored: number }> {
  const of = sql`documents where account = ${account}`
  return { known: await countCapped(q, of), stored: await countCapped(q, sql`${of} and sha256 is not null`) }
}
