import { startLoad } from '../load.ts'
import { startServe, WEBHOOK_SECRET } from '../serve-process.ts'
import { atMost, type BenchRow, median, plainRow, quantile } from '../table.ts'
import { knownValues, requestsOf, type SizeRequest } from './requests.ts'
import { BUSY, type Scale } from './rows.ts'

const MEDIAN_MS = 150
const P99_MS = 400
const FIRST_MS = 1_000
/** For 100,000 rows; a longer download is broken off there. */
const DOWNLOAD_MS = 10_000
const DOWNLOAD_LINES = 100_000
const MEMORY_MB = 350
/** Slower requests are repeated, this often. */
const SUSPECT_MS = 75
const REPEATS = 9
const DELIVERIES_A_SECOND = 50
const LOAD_SECONDS = 30
/** Measures only paths that contain this. */
const ONLY = process.env['SIZE_ONLY'] ?? ''
const TOKEN = 'bench-0123456789-abcdef'
const BY_TOKEN = { authorization: `Bearer ${TOKEN}` }

interface Timed {
  readonly request: SizeRequest
  readonly times: readonly number[]
}

/** Requests every route while deliveries arrive. @returns a row for each request over a bar, and summaries. */
export async function measureRoutes(name: string, env: Readonly<Record<string, string>>, scale: Scale): Promise<BenchRow[]> {
  // Keeps a year of bodies, so that retention removes nothing now.
  const settings = { ACCOUNT: BUSY, OPS_TOKENS: `bench:${TOKEN}:admin`, RETENTION_DAYS: 'off', CHANGES_RETENTION_DAYS: 'off' }
  const serve = await startServe({ ...env, ...settings })
  try {
    const firstMs = await timeOf(`${serve.opsUrl}/api/v1/overview`)
    const described = (await (await fetch(`${serve.opsUrl}/api/v1/openapi.json`, { headers: BY_TOKEN })).json()) as object
    const requests = requestsOf(described, knownValues(scale)).filter(({ path }) => path.includes(ONLY))
    const load = await deliver(Number(new URL(serve.receiverUrl).port))
    const timed: Timed[] = []
    for (const request of requests) {
      const one = await measure(serve.opsUrl, request)
      for (const { bar, value, met } of rowsOf(name, one)) if (!met) console.error(`  ${bar}: ${value}`)
      timed.push(one)
    }
    const acknowledged = await load.stop()
    const memoryMb = await residentMb(serve.opsUrl)
    return [
      atMost(`${name}: first answer of the overview after the start`, 'ms', firstMs, FIRST_MS),
      ...timed.flatMap((one) => rowsOf(name, one)).filter(({ met }) => !met),
      summary(name, timed),
      atMost(`${name}: acknowledgement at ${DELIVERIES_A_SECOND}/s during this, p99`, 'ms', quantile(acknowledged, 0.99), 100),
      atMost(`${name}: memory after this`, 'MB', memoryMb, MEMORY_MB),
    ]
  } finally {
    await serve.stop()
  }
}

async function measure(opsUrl: string, request: SizeRequest): Promise<Timed> {
  const times = [await timeOf(opsUrl + request.path)]
  if ((times[0] ?? 0) > SUSPECT_MS && !request.isDownload) for (let n = 1; n < REPEATS; n++) times.push(await timeOf(opsUrl + request.path))
  return { request, times }
}

async function timeOf(url: string): Promise<number> {
  const startedAt = performance.now()
  const answer = await fetch(url, { headers: BY_TOKEN })
  let lines = 0
  for await (const chunk of answer.body ?? []) {
    lines += linesIn(chunk)
    if (lines > DOWNLOAD_LINES) break
  }
  const ms = performance.now() - startedAt
  // Some of these find nothing, and sorting too many submissions is rejected.
  if (answer.status >= 500) throw new Error(`${url} was answered ${answer.status}`)
  return ms
}

function linesIn(chunk: Uint8Array): number {
  let lines = 0
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
  return lines
}

function rowsOf(name: string, { request, times }: Timed): BenchRow[] {
  if (request.isDownload) return [atMost(`${name}: ${request.path}`, 'ms', Math.max(...times), DOWNLOAD_MS)]
  return [
    atMost(`${name}: ${request.path}, median`, 'ms', median(times), MEDIAN_MS),
    atMost(`${name}: ${request.path}, slowest of ${times.length}`, 'ms', Math.max(...times), P99_MS),
  ]
}

function summary(name: string, timed: readonly Timed[]): BenchRow {
  const medians = timed.filter(({ request }) => !request.isDownload).map(({ times }) => median(times))
  const value = `median ${median(medians).toFixed(1)} ms, p99 ${quantile(medians, 0.99).toFixed(0)} ms`
  return plainRow(`${name}: ${medians.length} requests`, value, '', true)
}

/** Delivers until `stop`, which returns the latencies of the acknowledgements, in ms. */
async function deliver(port: number): Promise<{ stop(): Promise<number[]> }> {
  const load = await startLoad()
  const latencies: number[] = []
  let isStopped = false
  const requests = DELIVERIES_A_SECOND * LOAD_SECONDS
  const job = { port, secret: WEBHOOK_SECRET, connections: 8, seconds: LOAD_SECONDS, rate: DELIVERIES_A_SECOND, requests, submissions: 500 }
  const all = (async () => {
    for (let round = 0; !isStopped; round++) {
      const result = await load.send({ ...job, first: (Date.now() % 1_000_000_000) + round * requests })
      latencies.push(...result.latencies)
    }
  })()
  return {
    async stop() {
      isStopped = true
      await all
      await load.stop()
      return latencies
    },
  }
}

async function residentMb(opsUrl: string): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}/metrics`, { headers: BY_TOKEN })).text()
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1] ?? Number.NaN) / 2 ** 20
}
