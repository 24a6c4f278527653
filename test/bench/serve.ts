import Database from 'better-sqlite3'
import { startChild } from '../tools/child.ts'
import { newSqlite } from '../tools/databases.ts'
import { type Load, startLoad } from './load.ts'
import { startServe, WEBHOOK_SECRET } from './serve-process.ts'
import { atMost, type BenchRow, compare, plainRow, quantile } from './table.ts'

const SECONDS = 5
const WARM_UP_SECONDS = 3
const CONNECTIONS = 64
const SUBMISSIONS = 500
const MOST_A_SECOND = 40_000
const LEAST_ROWS_A_SECOND = 500
const OPEN_LOOP_SECONDS = 10
const OPEN_LOOP_RATE = 200
const LOOK_MS = 1

/** The whole product in one process on SQLite: acknowledgements while it applies, and the latency of mirrored deliveries. */
export async function serveBench(): Promise<BenchRow[]> {
  const load = await startLoad()
  try {
    return [...(await busyRows(load)), ...(await mirroredRows(load))]
  } finally {
    await load.stop()
  }
}

/** Acknowledgements during work, against the same route without storage. */
async function busyRows(load: Load): Promise<BenchRow[]> {
  const baseline = startChild('bench/children/receive-server.ts', ['baseline', WEBHOOK_SECRET])
  const baselinePort = Number(await baseline.says('listening'))
  const job = { secret: WEBHOOK_SECRET, connections: CONNECTIONS, seconds: SECONDS, rate: null, requests: MOST_A_SECOND * SECONDS }
  const warmUp = { seconds: WARM_UP_SECONDS, requests: MOST_A_SECOND * WARM_UP_SECONDS, first: MOST_A_SECOND * SECONDS }
  const applied: number[] = []
  const ours = async () => {
    const place = newSqlite()
    const serve = await startServe({ DATABASE_URL: `sqlite:${place.config.path}` })
    const messages = { ...job, port: Number(new URL(serve.receiverUrl).port), submissions: SUBMISSIONS }
    await load.send({ ...messages, ...warmUp })
    const before = countRows(place.config.path)
    const { answered } = await load.send(messages)
    applied.push((countRows(place.config.path) - before) / SECONDS)
    serve.child.kill('SIGKILL')
    await serve.stop()
    await place.remove()
    return answered / SECONDS
  }
  const theirs = async () => (await load.send({ ...job, port: baselinePort })).answered / SECONDS
  try {
    await theirs()
    const row = await compare('acknowledgements while applying, every role, SQLite', 'acks/s', 0.5, ours, theirs)
    const slowest = Math.min(...applied)
    const value = `${Math.round(slowest)} rows/s (the slowest round)`
    const required = `≥ ${LEAST_ROWS_A_SECOND} rows/s`
    return [row, plainRow('messages applied meanwhile', value, required, slowest >= LEAST_ROWS_A_SECOND)]
  } finally {
    await baseline.kill()
  }
}

function countRows(path: string): number {
  const database = new Database(path, { readonly: true })
  const row = database.prepare('select count(*) as n from thread_messages').get() as { n: number }
  database.close()
  return row.n
}

/** From the due time of a delivery until a reader sees its message. */
async function mirroredRows(load: Load): Promise<BenchRow[]> {
  const place = newSqlite()
  const serve = await startServe({ DATABASE_URL: `sqlite:${place.config.path}` })
  try {
    const port = Number(new URL(serve.receiverUrl).port)
    const requests = OPEN_LOOP_RATE * OPEN_LOOP_SECONDS
    const watching = watch(place.config.path, requests - OPEN_LOOP_RATE)
    const job = { port, secret: WEBHOOK_SECRET, connections: CONNECTIONS, seconds: OPEN_LOOP_SECONDS, rate: OPEN_LOOP_RATE }
    const { startedAtMs } = await load.send({ ...job, requests: requests + CONNECTIONS, submissions: SUBMISSIONS })
    const seenAt = await watching
    const latencies = [...seenAt].map(([n, ms]) => ms - (startedAtMs + (n / OPEN_LOOP_RATE) * 1000))
    const bar = `delivery to mirrored row at ${OPEN_LOOP_RATE}/s, open loop, SQLite`
    return [atMost(`${bar}, p50`, 'ms', quantile(latencies, 0.5), 25), atMost(`${bar}, p99`, 'ms', quantile(latencies, 0.99), 250)]
  } finally {
    await serve.stop()
    await place.remove()
  }
}

/** Reads the change log. @returns the arrival time of each of the first `messages` messages, by number. */
async function watch(path: string, messages: number): Promise<Map<number, number>> {
  const database = new Database(path, { readonly: true })
  const next = database.prepare('select seq, entity, entity_id from changes where seq > ? order by seq')
  const seenAt = new Map<number, number>()
  let seq = 0
  while (seenAt.size < messages) {
    for (const row of next.all(seq) as { seq: number; entity: string; entity_id: string }[]) {
      seq = row.seq
      if (row.entity !== 'thread_messages') continue
      const [, messageId = ''] = JSON.parse(row.entity_id) as string[]
      seenAt.set(Number(messageId.slice(-12)), performance.timeOrigin + performance.now())
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  database.close()
  return seenAt
}
