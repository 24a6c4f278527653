import type Database from 'better-sqlite3'

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

/**
 * Reads the whole file.
 * @returns what is wrong with a database: with its structure, or with the numbers of its change log; null when nothing is.
 */
export function faultOf(database: Database.Database, facts: SqliteFacts): string | null {
  const checks = database.pragma('integrity_check(3)') as { integrity_check: string }[]
  const said = checks.map((row) => row.integrity_check).join('; ')
  if (said !== 'ok') return `it is damaged (${said})`
  if (facts.schemaVersion === 0) return 'it is no database of submission-mirror'
  const logged = facts.rows['changes'] ?? 0
  const numbered = facts.lastSeq - facts.firstSeq + 1
  return logged === numbered ? null : `its change log has ${logged} rows and ${numbered} numbers`
}
