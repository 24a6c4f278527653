import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { databaseEnv, type ServeProcess, startServe } from '../e2e/serve.ts'
import { newSqlite } from '../tools/databases.ts'
import { percentile, type Sent, sendGood } from './good-sender.ts'

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
const ROUND_S = 1
/** Enough rounds for a busy machine to meet each kind of rejection. */
const ROUNDS = 60
const PER_TICK = 2

interface Attack {
  readonly kind: string
  readonly addresses: number
  readonly connections: number
  /** Reasons why some connections are closed. */
  readonly reasons: readonly string[]
}

const attacks: readonly Attack[] = [
  { kind: 'silent', addresses: 1, connections: 1, reasons: [] },
  { kind: 'slow_headers', addresses: 1, connections: 1_200, reasons: ['too_many', 'wasted'] },
  { kind: 'slow_headers', addresses: 6, connections: 300, reasons: ['full'] },
  { kind: 'slow_bodies', addresses: 1, connections: 50, reasons: [] },
  { kind: 'slow_bodies', addresses: 6, connections: 250, reasons: ['full'] },
  { kind: 'tiny_chunks', addresses: 1, connections: 50, reasons: ['small_chunks', 'banned'] },
  { kind: 'unwanted_chunks', addresses: 6, connections: 50, reasons: ['small_chunks', 'banned'] },
  { kind: 'large_bodies', addresses: 6, connections: 10, reasons: [] },
  { kind: 'pipelining', addresses: 1, connections: 200, reasons: ['pipelined', 'banned'] },
  { kind: 'pipelining', addresses: 6, connections: 100, reasons: ['pipelined', 'banned'] },
  { kind: 'few_at_a_time', addresses: 1, connections: 50, reasons: [] },
  { kind: 'idle', addresses: 6, connections: 250, reasons: ['full'] },
  { kind: 'silent', addresses: 6, connections: 250, reasons: ['full'] },
  { kind: 'resets', addresses: 1, connections: 200, reasons: ['wasted', 'banned'] },
]

describe('good deliveries, 200 a second, while strangers attack', () => {
  const place = newSqlite()
  const figures: string[] = []
  let serving: ServeProcess
  let logged: Promise<string>

  beforeAll(async () => {
    serving = await startServe({
      ...databaseEnv(place.config),
      BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
      BROKER_API_CLIENT_ID: 'bac_hostile',
      BROKER_API_CLIENT_SECRET: 'bas_hostile',
      WEBHOOK_SECRETS: SECRET,
    })
    logged = serving.says('were rejected or closed')
  })
  afterAll(async () => {
    console.log(figures.join('\n'))
    await serving.stop()
    await place.remove()
  })

  async function cpuSeconds(): Promise<number> {
    return Number(/^process_cpu_seconds_total ([\d.]+)$/m.exec(await (await fetch(`${serving.ops}/metrics`)).text())?.[1])
  }

  /** Rejected connections by reason. */
  async function refused(): Promise<Map<string, number>> {
    const text = await (await fetch(`${serving.ops}/metrics`)).text()
    const found = text.matchAll(/^submission_mirror_connections_rejected_total\{reason="(\w+)"\} (\d+)$/gm)
    return new Map([...found].map(([, reason = '', count]) => [reason, Number(count)]))
  }

  it.each(attacks)('all are stored and answered 204: $kind, $connections connections from each of $addresses', async (attack) => {
    const before = await refused()
    const { kind, addresses, connections } = attack
    // Each attack has its own addresses, since earlier ones may still be blocked.
    const from = Array.from({ length: addresses }, (_, n) => `127.1.${attacks.indexOf(attack)}.${n + 1}`)
    const args = [join(import.meta.dirname, 'attacker.ts'), kind, new URL(serving.receiver).port, from.join(','), String(connections)]
    const attacker = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    await once(createInterface({ input: attacker.stdout }), 'line')
    const [cpuBefore, startedAt] = [await cpuSeconds(), performance.now()]
    const rounds: Sent[] = []
    let grown: (readonly [string, number])[] = []
    do {
      rounds.push(await sendGood(`${serving.receiver}/webhooks`, SECRET, ROUND_S, PER_TICK))
      const counts = [...(await refused())].map(([reason, count]) => [reason, count - (before.get(reason) ?? 0)] as const)
      grown = counts.filter(([, n]) => n > 0)
    } while (rounds.length < ROUNDS && !attack.reasons.every((reason) => grown.some(([seen]) => seen === reason)))
    const latencies = rounds.flatMap((round) => round.latencies).sort((a, b) => a - b)
    const share = (((await cpuSeconds()) - cpuBefore) / (performance.now() - startedAt)) * 1000
    expect(attacker.exitCode).toBeNull()
    attacker.stdin.end()
    await once(attacker, 'exit')
    const reasons = grown.map(([reason, n]) => `${reason} ${n}`).join(', ')
    figures.push(
      `${kind} ${connections} x ${addresses}: p50 ${percentile(latencies, 0.5)} ms, p99 ${percentile(latencies, 0.99)} ms, longest ${percentile(latencies, 1)} ms, ${Math.round(share * 100)} % of a core; ${reasons}`,
    )
    for (const { answers } of rounds) expect(answers).toEqual({ 204: ROUND_S * 100 * PER_TICK })
    expect(grown.map(([reason]) => reason)).toEqual(expect.arrayContaining([...attack.reasons]))
  })

  it('logs it', async () => {
    expect(await logged).toMatch(/connections were rejected or closed to keep the receiver free, \d+ of them from 127\.1\./)
  })
})
