import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Child, startChild } from '../tools/child.ts'
import { newSqlite } from '../tools/databases.ts'
import type { SendJob } from './children/push-sender.ts'
import type { Job, LoadResult } from './children/receive-load.ts'
import { type Load, startLoad } from './load.ts'
import { CONCURRENCY, PUSH_SECRET, settingsFor } from './push-destination.ts'
import { addLargeQueue, copyOf, makeQueue } from './push-queue.ts'
import { type ServeProcess, startServe, WEBHOOK_SECRET } from './serve-process.ts'
import { atMost, type BenchRow, compare, quantile, tableOf } from './table.ts'

const MESSAGES = 10_000
const SUBMISSIONS = 1_000
const WARM_UP_ROUNDS = 5
/** A round takes less than two seconds, so other activity may disturb it. */
const RATE_ROUNDS = 31
const OPEN_LOOP_RATE = 100
const OPEN_LOOP_SECONDS = 20
const CONNECTIONS = 64
const RECEIVE_SECONDS = 3
const MOST_A_SECOND = 22_000
/** No listener on this port. */
const DEAD_URL = 'http://127.0.0.1:9/'

interface Bench {
  readonly receiver: Child
  readonly receiverUrl: string
  readonly sender: Child
  readonly load: Load
  readonly folder: string
}

/** Latency and rate of pushes to a webhook destination on SQLite, and the cost of a dead destination with a long queue. */
export async function pushBench(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-bench-'))
  const receiver = startChild('bench/children/push-receiver.ts', [])
  const sender = startChild('bench/children/push-sender.ts', [])
  const load = await startLoad()
  try {
    const receiverUrl = `http://127.0.0.1:${await receiver.says('listening')}/`
    await sender.says('ready')
    const bench = { receiver, receiverUrl, sender, load, folder }
    return [...(await latencyRows(bench)), await rateRow(bench), ...(await deadRows(bench))]
  } finally {
    for (const child of [receiver, sender]) await child.kill()
    await load.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** From the due time of a delivery until the push of its message arrives. */
async function latencyRows(bench: Bench): Promise<BenchRow[]> {
  const place = newSqlite()
  const serve = await startPushing(bench, place.config.path, [['agency', bench.receiverUrl]])
  try {
    await reset(bench, 'times')
    const requests = OPEN_LOOP_RATE * OPEN_LOOP_SECONDS
    const messages = requests - OPEN_LOOP_RATE
    const job = { seconds: OPEN_LOOP_SECONDS, rate: OPEN_LOOP_RATE, requests: requests + CONNECTIONS, submissions: SUBMISSIONS }
    const { startedAtMs } = await deliver(bench, serve, job)
    bench.receiver.tell(`wait ${messages}`)
    await bench.receiver.says('received')
    bench.receiver.tell('times')
    const times = JSON.parse(await bench.receiver.says('times')) as [number, number][]
    const latencies = times.map(([n, ms]) => ms - (startedAtMs + (n / OPEN_LOOP_RATE) * 1000))
    const bar = `delivery at the receiver to its push, ${OPEN_LOOP_RATE}/s, open loop, SQLite`
    return [atMost(`${bar}, p50`, 'ms', quantile(latencies, 0.5), 50), atMost(`${bar}, p99`, 'ms', quantile(latencies, 0.99), 500)]
  } finally {
    await serve.stop()
    await place.remove()
  }
}

/** Sends a full outbox and stores every outcome, against a client that posts the same bodies and stores nothing. */
async function rateRow(bench: Bench): Promise<BenchRow> {
  const template = join(bench.folder, 'queue.db')
  const bodies = join(bench.folder, 'bodies')
  await makeQueue(template, 'agency', [], MESSAGES, SUBMISSIONS)
  // As in a long-running program, with open threads and write-ahead log.
  const path = copyOf(template, bench.folder, 'long-open.db')
  const ours = async (keep: 'nothing' | 'bodies' = 'nothing') => {
    await reset(bench, keep)
    const took = await send(bench, { type: 'product', path, urls: [['agency', bench.receiverUrl]], rows: MESSAGES, staysOpen: true })
    return MESSAGES / (took / 1000)
  }
  const theirs = async () => {
    await reset(bench, 'nothing')
    return MESSAGES / ((await send(bench, { type: 'bare', file: bodies, url: bench.receiverUrl, concurrency: CONCURRENCY })) / 1000)
  }
  await ours('bodies')
  bench.receiver.tell(`save ${bodies}`)
  await bench.receiver.says('saved')
  // Warms up the compiled code of both.
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    await theirs()
    await ours()
  }
  const bar = `${MESSAGES.toLocaleString('en')} queued changes of ${SUBMISSIONS.toLocaleString('en')} submissions to a webhook, SQLite`
  return compare(bar, 'pushes/s', 0.6, ours, theirs, RATE_ROUNDS)
}

/**
 * Cost of a million rows for a dead destination: receiving while every role runs, and pushes to another destination. Both against the same
 * dead destination without waiting rows.
 */
async function deadRows(bench: Bench): Promise<BenchRow[]> {
  const small = join(bench.folder, 'small.db')
  const large = join(bench.folder, 'large.db')
  await makeQueue(small, 'agency', ['gone', 'ams'], MESSAGES, SUBMISSIONS)
  copyFileSync(small, large)
  addLargeQueue(large, 'agency', 'gone')
  /** `agency` has a queue, `ams` only new changes. */
  const urls = (name: 'agency' | 'ams') =>
    [
      [name, bench.receiverUrl],
      ['gone', DEAD_URL],
    ] as const
  const pushed = async (template: string) => {
    await reset(bench, 'nothing')
    const path = copyOf(template, bench.folder)
    return MESSAGES / ((await send(bench, { type: 'product', path, urls: urls('agency'), rows: MESSAGES, staysOpen: false })) / 1000)
  }
  const received = async (template: string) => {
    await reset(bench, 'nothing')
    const serve = await startPushing(bench, copyOf(template, bench.folder), urls('ams'))
    const job = { seconds: RECEIVE_SECONDS, rate: null, requests: MOST_A_SECOND * RECEIVE_SECONDS, submissions: SUBMISSIONS }
    const { answered } = await deliver(bench, serve, job)
    serve.child.kill('SIGKILL')
    await serve.stop()
    return answered / RECEIVE_SECONDS
  }
  await pushed(small)
  const queue = 'a queue of 1,000,000 rows for a dead destination'
  return [
    await compare(
      `acknowledgements beside ${queue}, every role`,
      'acks/s',
      0.8,
      () => received(large),
      () => received(small),
    ),
    await compare(
      `another destination's pushes beside ${queue}`,
      'pushes/s',
      0.8,
      () => pushed(large),
      () => pushed(small),
    ),
  ]
}

async function startPushing(
  { folder }: Bench,
  path: string,
  urls: readonly (readonly [name: string, url: string])[],
): Promise<ServeProcess> {
  const settings = join(folder, 'settings.yaml')
  writeFileSync(settings, settingsFor(urls))
  return startServe({ DATABASE_URL: `sqlite:${path}`, CONFIG_FILE: settings, BENCH_PUSH_SECRET: PUSH_SECRET })
}

async function reset({ receiver }: Bench, keep: 'nothing' | 'times' | 'bodies'): Promise<void> {
  receiver.tell(`reset ${keep}`)
  await receiver.says('ready')
}

async function send({ sender }: Bench, job: SendJob): Promise<number> {
  sender.tell(JSON.stringify(job))
  return Number(await sender.says('took'))
}

async function deliver({ load }: Bench, serve: ServeProcess, job: Omit<Job, 'port' | 'secret' | 'connections'>): Promise<LoadResult> {
  const { port } = new URL(serve.receiverUrl)
  return load.send({ ...job, port: Number(port), secret: WEBHOOK_SECRET, connections: CONNECTIONS })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(tableOf(await pushBench()))
