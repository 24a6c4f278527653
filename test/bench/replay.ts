import Database from 'better-sqlite3'
import { inApplyTransaction } from '../../src/apply/apply.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import type { EventFact, MessageFact } from '../../src/model/facts.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { newSqlite, silentLog } from '../tools/databases.ts'
import { byReplay, eventFact, messageFact, stateFact, uuid, wireEvent, wireLane, wireMessage, wireRequirements } from '../tools/facts.ts'
import type { BenchRow } from './table.ts'

const RECORDS = 1_000
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
] as const

/** Rows written in public tables by a replay that finds nothing new. */
export async function replayBench(): Promise<BenchRow[]> {
  const place = newSqlite()
  const db = await openDb(place.config, { clock: systemClock, log: silentLog })
  try {
    await migrate(db)
    await replay(db, 1)
    const writes = countWrites(place.config.path)
    await replay(db, 2)
    const written = writes()
    const bar = `a replay of ${2 * RECORDS} records and a state read that changed nothing`
    return [{ bar, value: `${written} rows written`, baseline: '', ratio: '', required: '0', met: written === 0 }]
  } finally {
    await db.close()
    await place.remove()
  }
}

async function replay(db: Db, readNo: number): Promise<void> {
  const submissionId = uuid(9, 1)
  const facts: (EventFact | MessageFact)[] = []
  for (let n = 0; n < RECORDS; n++) {
    facts.push(eventFact('bench', submissionId, wireEvent(n), byReplay), messageFact('bench', submissionId, wireMessage(n), byReplay))
  }
  await inApplyTransaction(db, silentObserver, 'bench', (transaction) => transaction.apply(facts))
  const view = wireRequirements(submissionId, [wireLane(0), wireLane(1)], {}, { generated_at: new Date().toISOString() })
  await inApplyTransaction(db, silentObserver, 'bench', (transaction) =>
    transaction.apply([stateFact('bench', submissionId, view, readNo)]),
  )
}

/** Counts every row that is inserted, updated or deleted in a public table, whether its content changes or not. */
function countWrites(path: string): () => number {
  const database = new Database(path)
  database.exec('create table bench_writes (n integer)')
  for (const table of PUBLIC) {
    for (const operation of ['insert', 'update', 'delete']) {
      database.exec(
        `create trigger bench_${table}_${operation} after ${operation} on ${table} begin insert into bench_writes values (1); end`,
      )
    }
  }
  return () => {
    const { n } = database.prepare('select count(*) as n from bench_writes').get() as { n: number }
    database.close()
    return n
  }
}
