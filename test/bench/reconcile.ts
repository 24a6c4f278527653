import Database from 'better-sqlite3'
import { inApplyTransaction } from '../../src/apply/apply.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import type { EventObservation, MessageObservation, Observation } from '../../src/model/observations.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { startChild } from '../tools/child.ts'
import { newSqlite, silentLog } from '../tools/databases.ts'
import {
  byFullRead,
  observedEvent,
  observedMessage,
  observedState,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../tools/observations.ts'
import { countWrites } from './counted-writes.ts'
import { atMost, type BenchRow, compare } from './table.ts'

/** `RECONCILE_BENCH=100000 npm run bench -- reconcile` measures the size of the bar, for hours. */
const SUBMISSIONS = Number(process.env['RECONCILE_BENCH'] ?? 4_000)
/** Least latency of a service on the internet; uses fewer submissions. */
const ANSWER_MS = 40
const SUBMISSIONS_THEN = Math.ceil(SUBMISSIONS / 5)
const EVENTS = 20
const MESSAGES = 4
interface Result {
  readonly seconds: number
  readonly rssMb: number
  readonly code: number
}

/**
 * A clean reconcile run over every submission, feeds and state, against the same requests by the same client: with a slow service, and with
 * an immediate one, which measures only the comparison. Also its memory and writes.
 */
export async function reconcileBench(): Promise<BenchRow[]> {
  const slow = await measure(`${ANSWER_MS} ms an answer`, SUBMISSIONS_THEN, ANSWER_MS)
  const fast = await measure('immediate answers', SUBMISSIONS, 0)
  return [slow.speed, fast.speed, fast.memory, fast.writes]
}

async function measure(how: string, submissions: number, answerMs: number): Promise<Record<'speed' | 'memory' | 'writes', BenchRow>> {
  const place = newSqlite()
  const service = startChild('bench/children/reconcile-service.ts', [String(EVENTS), String(answerMs)])
  try {
    const baseUrl = `http://127.0.0.1:${await service.says('listening')}/api/v1`
    await fill(place.config.path, submissions)
    const run = async (mode: 'reconcile' | 'bare'): Promise<Result> => {
      const child = startChild('bench/children/reconcile-run.ts', [mode, place.config.path, baseUrl, String(submissions)])
      const result = JSON.parse(await child.says('result')) as Result
      await child.ended()
      if (result.code !== 0) throw new Error(`the ${mode} run found something where nothing was to be found`)
      return result
    }
    await run('bare')
    const writes = countWrites(place.config.path, 'such a run: rows written in the mirror and its log')
    let rssMb = 0
    const ours = async () => {
      const result = await run('reconcile')
      rssMb = Math.max(rssMb, result.rssMb)
      return (submissions * EVENTS) / result.seconds
    }
    const theirs = async () => (submissions * EVENTS) / (await run('bare')).seconds
    const what = `${submissions.toLocaleString('en')} submissions, ${(submissions * EVENTS).toLocaleString('en')} events`
    const speed = await compare(`reconcile, ${what}, no rate limit, SQLite, ${how}`, 'events/s', 0.8, ours, theirs)
    return { speed, memory: atMost(`such a run: memory, ${what}`, 'MB', rssMb, 300), writes: writes() }
  } finally {
    await service.kill()
    await place.remove()
  }
}

/** Applies one submission and copies its rows, since filling isn't measured. */
async function fill(path: string, submissions: number): Promise<void> {
  const db = await openDb({ kind: 'sqlite', path }, { clock: systemClock, log: silentLog })
  await migrate(db)
  await ensureAccounts(db, ['bench'])
  const first = uuid(9, 0)
  const observations: (EventObservation | MessageObservation)[] = []
  for (let n = 0; n < EVENTS; n++) observations.push(observedEvent('bench', first, wireEvent(n), byFullRead))
  for (let n = 0; n < MESSAGES; n++) observations.push(observedMessage('bench', first, wireMessage(n), byFullRead))
  const view = wireRequirements(
    first,
    [0, 1, 2].map((n) => wireLane(n)),
  )
  for (const observation of [observations, [observedState('bench', first, view, 1)]] as Observation[][]) {
    await inApplyTransaction(db, silentObserver, 'bench', (transaction) => transaction.apply(observation))
  }
  await db.close()
  const database = new Database(path)
  database.pragma('synchronous = off')
  database.exec('create temporary table ids (id text)')
  const add = database.prepare('insert into ids values (?)')
  database.transaction(() => {
    for (let n = 1; n < submissions; n++) add.run(uuid(9, n))
    for (const table of ['submissions', 'market_events', 'thread_messages', 'thread_attachments', 'lanes', 'sync_reads']) {
      const columns = database.pragma(`table_info(${table})`) as { name: string }[]
      const names = columns.map(({ name }) => name)
      const values = names.map((name) =>
        name === 'submission_id' ? 'ids.id' : name === 'raw' ? `replace(t.raw, '${first}', ids.id)` : `t.${name}`,
      )
      database.exec(
        `insert into ${table} (${names.join()}) select ${values.join()} from ids, ${table} t where t.submission_id = '${first}'`,
      )
    }
  })()
  database.pragma('wal_checkpoint(truncate)')
  database.close()
}
