import type Database from 'better-sqlite3'
import { missingTables, missingText } from '../migrate/schema-parts.ts'

/** What tells whether a copy of a database is the same as it. */
export interface SqliteFacts {
  /** 0 when it is no database of ours. */
  readonly schemaVersion: number
  readonly logEpoch: string
  readonly firstSeq: number
  readonly lastSeq: number
  /** Rows of every table. */
  readonly rows: Readonly<Record<string, number>>
}

/** Counts everything: for a thread or a process of its own. */
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

/** How many numbers the change log has no row of: somebody has deleted those, and nothing brings them back. */
export function lostNumbers({ firstSeq, lastSeq, rows }: SqliteFacts): number {
  const lost = lastSeq - firstSeq + 1 - (rows['changes'] ?? 0)
  // Whoever deletes rows may also have set the ends of the log to something else: `repairEnds` mends that.
  return lost > 0 ? lost : 0
}

/**
 * Reads the whole file.
 * @returns what is wrong with a database: with its structure, or its tables; null when nothing is. A change log with holes is as good as
 * it can be.
 */
export function faultOf(database: Database.Database, facts: SqliteFacts): string | null {
  const checks = database.pragma('integrity_check(3)') as { integrity_check: string }[]
  const said = checks.map((row) => row.integrity_check).join('; ')
  if (said !== 'ok') return `it is damaged (${said})`
  if (facts.schemaVersion === 0) return 'it is no database of submission-mirror'
  const missing = missingTables(database, facts.schemaVersion)
  return missing.length === 0 ? null : missingText(missing)
}
