import Database from 'better-sqlite3'
import { type BenchRow, plainRow } from './table.ts'

const PUBLIC = [
  'submissions',
  'market_events',
  'thread_messages',
  'thread_attachments',
  'lanes',
  'quotes',
  'source_offers',
  'quote_history',
  'changes',
]

/** Counts every row inserted, updated or deleted in a public table from now on. @returns a row without a limit. */
export function countWrites(path: string, bar: string): () => BenchRow {
  const run = <T>(work: (database: Database.Database) => T): T => {
    const database = new Database(path)
    try {
      return work(database)
    } finally {
      database.close()
    }
  }
  run((database) => {
    database.exec('create table bench_writes (n integer)')
    for (const table of PUBLIC)
      for (const operation of ['insert', 'update', 'delete'])
        database.exec(
          `create trigger bench_${table}_${operation} after ${operation} on ${table} begin insert into bench_writes values (1); end`,
        )
  })
  return () => {
    const { n } = run((database) => database.prepare('select count(*) as n from bench_writes').get()) as { n: number }
    return plainRow(bar, `${n} rows written`, '0', n === 0)
  }
}
