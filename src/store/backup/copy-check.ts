import { createHash } from 'node:crypto'
import { canonicalJson } from '../../model/json.ts'
import { parseTime } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { type CopiedRow, type CopiedValue, readRows } from './copied-rows.ts'
import type { CopiedKind, CopiedTable } from './copied-tables.ts'

/** What a table holds: equal for equal rows, in whichever order they are stored. */
export interface TableSum {
  readonly rows: number
  /** The sum of a hash of each row, modulo 2 to the 64. */
  readonly sum: bigint
}

const PAGE = 500

/** Reads a table from its first row to its last. @param signal ends it between two pages. */
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

/** Postgres sorts the keys of what it keeps as jsonb, and writes a time in one form. */
function comparable(kind: CopiedKind, value: CopiedValue): unknown {
  if (kind === 'time' && typeof value === 'string') return parseTime(value) ?? value
  if (value instanceof Uint8Array) return createHash('sha256').update(value).digest('hex')
  return kind === 'json' ? canonicalJson(value) : value
}
