import type Database from 'better-sqlite3'
import { missingTables, missingText } from '../migrate/schema-parts.ts'

export interface SqliteFacts {
  /** 0 if the file isn't a submission-mirror database. */
  readonly schemaVersion: number
  readonly logEpoch: string
  readonly firstSeq: number
  readonly lastSeq: number
  readonly rows: Readonly<Record<string, number>>
}

/**
 * Reads the row counts and log ids that must be equal in a database and its copy.
 * Counts all rows, which blocks the event loop. Call this only in a worker thread or a child process.
 */
export function factsOf(database: Database.Database): SqliteFacts {
  const tables = database
    .prepare<[], { name: string }>("select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name")
    .all()
    .map(({ name }) => name)
  const rows: Record<string, number> = {}
  for (const name of tables) {
    rows[name] = database.prepare<[], { n: number }>(`select count(*) as n from "${name.replaceAll('"', '""')}"`).get()?.n ?? 0
  }
  const info = tables.includes('mirror_info')
    ? database
        .prepare<[], { schema_version: number; log_epoch: string; first_seq: number; last_seq: number }>('select * from mirror_info')
        .get()
    : undefined
  return {
    schemaVersion: info?.schema_version ?? 0,
    logEpoch: info?.log_epoch ?? '',
    firstSeq: info?.first_seq ?? 1,
    lastSeq: info?.last_seq ?? 0,
    rows,
  }
}

/** Counts the numbers from `firstSeq` to `lastSeq` that have no row in the change log. */
export function lostNumbers({ firstSeq, lastSeq, rows }: SqliteFacts): number {
  const lost = lastSeq - firstSeq + 1 - (rows['changes'] ?? 0)
  // `lost` is negative if someone edited `mirror_info` by hand (see `repairEnds`).
  return lost > 0 ? lost : 0
}

/**
 * Checks a database file for damage and missing tables. Reads the whole file.
 * Ignores gaps in the change log, because no command can fill a gap.
 * @returns the problem; null if the file is good.
 */
export function faultOf(database: Database.Database, facts: SqliteFacts): string | null {
  const checks = database.pragma('integrity_check(3)') as { integrity_check: string }[]
  const result = checks.map((row) => row.integrity_check).join('; ')
  if (result !== 'ok') return `it is damaged (${result})`
  if (facts.schemaVersion === 0) return 'it is not a database of submission-mirror'
  const missing = missingTables(database)
  return missing.length === 0 ? null : missingText(missing)
}
