import { type Serving, startServing } from '../../src/app/serving.ts'
import { systemClock } from '../../src/base/clock.ts'
import { messageOf, TransientError } from '../../src/base/errors.ts'
import { createLog } from '../../src/base/log.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { openDb } from '../../src/store/open/open.ts'
import { storeMappings } from '../../src/store/outbox/push-map.ts'
import { retryRows, skipRows } from '../../src/store/outbox/retry.ts'

export interface Host {
  say(line: string): void
  /** Ends the process as SIGKILL does. In the test's process the call returns. */
  kill(): void
  setDiskFull(isFull: boolean): void
  exit(code: number): void
}

/**
 * `serve`, put together as the program does it, which ends where a test says. It is given orders, a line each:
 *
 *   start ENV        the settings, as JSON
 *   arm POINT N HOW  at the Nth time from now that it comes to POINT it is killed; or (HOW is `throw`) the store fails that once, or
 *                    (`refuse`) refuses what is written, that time and ever after, or (`full`) no file can be written from then on
 *   room             files can be written again, and the commands that failed are repeated
 *   retry, skip, map as the commands of that name do, with a connection of their own: `outbox retry`, `outbox skip` of dead letters,
 *                    `destination map` of the mapping that follows as JSON
 *   stop             as by SIGTERM
 */
export class Composition {
  readonly #host: Host
  readonly #armed = new Map<string, { left: number; readonly how: string }>()
  readonly #obeying = new Set<Promise<void>>()
  readonly #failed: [name: string, words: string][] = []
  #serving: Serving | undefined
  #stopping: Promise<void> | undefined
  #database: Config['database'] | undefined
  #isKilled = false

  constructor(host: Host) {
    this.#host = host
  }

  get isServing(): boolean {
    return this.#serving !== undefined
  }

  /** An invalid order ends the process, as an error ends the program. */
  obey(line: string): void {
    const [order = '', ...words] = line.split(' ')
    const obeyed = this.#carryOut(order, words).catch((error: unknown) => this.#fail(error))
    this.#obeying.add(obeyed)
    void obeyed.finally(() => this.#obeying.delete(obeyed))
  }

  /** Lets no later transaction begin or commit. */
  kill(): void {
    if (this.#isKilled) return
    this.#isKilled = true
    this.#host.kill()
  }

  async close(): Promise<void> {
    // An interrupted start may have completed.
    while (this.#obeying.size > 0) await Promise.all(this.#obeying)
    await this.#stop()
  }

  async #carryOut(order: string, words: readonly string[]): Promise<void> {
    const rest = words.join(' ')
    if (order === 'arm') {
      const [point = '', n = '1', how = 'kill'] = words
      this.#armed.set(point, { left: Number(n), how })
      this.#host.say('armed')
    }
    if (order === 'room') {
      this.#armed.clear()
      this.#host.setDiskFull(false)
      for (const [name, given] of this.#failed.splice(0)) await this.#command(name, given)
    }
    if (order === 'start') await this.#start(JSON.parse(rest) as Record<string, string>)
    if (order === 'retry' || order === 'skip' || order === 'map') {
      await this.#command(order, rest).catch((error: unknown) => {
        if (!(error instanceof TransientError)) throw error
        this.#failed.push([order, rest])
      })
    }
    if (order === 'stop') {
      await this.#stop()
      this.#exit(0)
    }
  }

  async #start(env: Record<string, string>): Promise<void> {
    this.#database = loadConfig(env).database
    const logDestination = { write: (line: string) => this.#host.say(line.trimEnd()) }
    const overrides = { failPoint: this.#failPoint, logDestination }
    this.#serving = await startServing(async () => loadConfig(env), { role: 'all', overrides })
    this.#serving.failed.catch((error: unknown) => this.#fail(error))
    if (!this.#isKilled) this.#host.say(`ready ${this.#serving.receiver} ${this.#serving.ops}`)
  }

  #stop(): Promise<void> {
    this.#stopping ??= this.#serving?.stop()
    return this.#stopping ?? Promise.resolve()
  }

  async #command(name: string, words: string): Promise<void> {
    if (!this.#database) throw new Error('not started')
    const log = createLog({ level: 'silent', pretty: false, secrets: [] })
    const db = await openDb(this.#database, { clock: systemClock, log, failPoint: this.#failPoint })
    try {
      if (name === 'retry') await retryRows(db, {}, 0, 1_000)
      if (name === 'skip') await skipRows(db, {}, 0, 1_000)
      if (name === 'map') await storeMappings(db, [JSON.parse(words)], 'import')
    } finally {
      await db.close()
    }
  }

  readonly #failPoint = (point: string): void => {
    // Each transaction calls this before its commit.
    if (this.#isKilled) throw new TransientError(`it was killed before ${point}`)
    const here = this.#armed.get(point)
    if (!here) return
    here.left -= 1
    if (here.left > 0) return
    if (here.how === 'refuse') throw new Error(`the store refuses what is written at ${point}`)
    this.#armed.delete(point)
    if (here.how === 'full') {
      this.#host.setDiskFull(true)
      this.#host.say('full')
      return
    }
    if (here.how === 'throw') throw new TransientError(`the store fails at ${point}`)
    this.kill()
    throw new TransientError(`it was killed at ${point}`)
  }

  #fail(error: unknown): void {
    this.#host.say(`failed ${messageOf(error)}`)
    this.#exit(1)
  }

  #exit(code: number): void {
    if (!this.#isKilled) this.#host.exit(code)
  }
}
