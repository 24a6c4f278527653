import { systemClock } from '../../src/base/clock.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { FaultInput } from '../../src/sandbox/service/faults.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { accountEnv, databaseEnv } from '../e2e/serve.ts'
import { letTimePass } from '../e2e/time.ts'
import { openAgain } from '../tools/databases.ts'
import { sandboxClient } from '../tools/sandbox-client.ts'
import { PATIENCE_MS } from '../tools/until.ts'
import { ACCOUNT, checkDead, checkSettled, expectRefusal, isMigrated, leases, type Outside } from './checks.ts'
import type { CrashPlace } from './place.ts'
import { inThisProcess, type Product, type Products, processes } from './product.ts'

/** Longer than every lease and backoff of a round. */
const PASS_MS = 1_200_000
/** How long a product killed in this process may try to store results. */
const CLOSING = '500ms'
/** Number of kept log lines. */
const LINES_KEPT = 50
/** Many short pages, so that kills fall between pages and cursors. */
const SHORT_PAGES: FaultInput = { kind: 'short_page', probability: 0.7 }

export interface PushedTo {
  /** Settings of the first start, and of starts without their own. */
  readonly settings: Readonly<Record<string, string>>
  /** Checks the database of a product that was killed at any moment. */
  checkDead(db: Db): Promise<void>
  /** Checks the database after the product restarted and applied its work. */
  checkSettled(db: Db): Promise<void>
  close(): Promise<void>
}

export type Home = 'processes' | 'here'

/** The service in this process, and a product that is killed and restarted repeatedly, with checks in between. */
export class CrashRig implements Outside {
  readonly sandbox: Sandbox
  readonly acknowledged: ReadonlyMap<string, readonly string[]>
  readonly touched = new Set<string>()
  readonly errors: string[] = []
  readonly client: UpstreamClient
  readonly #place: CrashPlace
  readonly #push: PushedTo | null
  readonly #settings: Record<string, string>
  readonly #products: Products
  readonly #said: string[] = []
  /** Awaited words, each at the beginning of a line. */
  readonly #awaited = new Map<string, () => void>()
  #product: Product | null = null
  #receiver = ''
  #ops = ''
  #db: Db | null = null
  #isFull = false
  #isStopping = false

  private constructor(
    products: Products,
    home: Home,
    place: CrashPlace,
    sandbox: Sandbox,
    acknowledged: ReadonlyMap<string, readonly string[]>,
    push: PushedTo | null,
  ) {
    this.#products = products
    this.#place = place
    this.#push = push
    this.sandbox = sandbox
    this.acknowledged = acknowledged
    const account = accountEnv(sandbox)
    this.#settings = {
      ...databaseEnv(place.config),
      ...account,
      HOST: '127.0.0.1',
      PORT: '0',
      OPS_HOST: '127.0.0.1',
      OPS_PORT: '0',
      OPS_TOKENS: `tester:${this.opsToken}`,
      UPSTREAM_RPS: '1000',
      LOG_LEVEL: 'warn',
      DOCUMENTS: 'list',
      ...(home === 'here' && { SHUTDOWN_GRACE: CLOSING }),
      ...push?.settings,
    }
    this.client = sandboxClient(sandbox, ACCOUNT, { requestsPerSecond: 10_000 })
  }

  /** @param push where changes are pushed; null for nowhere. */
  static async open(place: CrashPlace, push: PushedTo | null = null, home: Home = 'processes'): Promise<CrashRig> {
    const acknowledged = new Map<string, readonly string[]>()
    const sandbox = await startSandbox({
      submissions: 0,
      lists: true,
      autoStart: false,
      retryScheduleMs: Array.from({ length: 1_000 }, () => 50),
      observe(notice) {
        if (notice.kind === 'delivery' && notice.outcome === 'acknowledged') acknowledged.set(notice.deliveryId, notice.itemIds)
      },
    })
    const products = home === 'here' ? inThisProcess(place) : await processes()
    return new CrashRig(products, home, place, sandbox, acknowledged, push)
  }

  get push(): PushedTo | null {
    return this.#push
  }

  get ops(): string {
    return this.#ops
  }

  readonly opsToken = '0123456789-abcdef'

  get receiver(): string {
    return this.#receiver
  }

  async store(): Promise<Db> {
    this.#db ??= await openAgain(this.#place.config)
    return this.#db
  }

  /** Whether the product reached the armed point and the result wasn't checked yet. */
  get isThere(): boolean {
    return this.#isFull || (this.#product?.isKilled ?? false)
  }

  /**
   * Starts the product.
   * @param arm where it will be killed, see composition.ts; then nothing waits for readiness.
   * @param settings changed from here on.
   * @param faults of the service from here on.
   */
  async start(arm?: string, settings: Readonly<Record<string, string>> = {}, faults: readonly FaultInput[] = []): Promise<void> {
    // The product has its database alone, as in production.
    await this.#closeStore()
    Object.assign(this.#settings, settings)
    this.#receiver = ''
    this.#isStopping = false
    this.#said.length = 0
    this.#product = this.#products.next((line) => this.#hear(line))
    this.sandbox.faults.set([SHORT_PAGES, ...faults])
    if (arm) this.#product.tell(`arm ${arm}`)
    const start = `start ${JSON.stringify(this.#settings)}`
    if (arm) this.#product.tell(start)
    else await this.#hearAfter(start, 'ready')
  }

  #hear(line: string): void {
    this.#said.push(line)
    if (this.#said.length > LINES_KEPT) this.#said.shift()
    if (line.startsWith('{"level":50,')) this.errors.push(line)
    const [word = '', receiver = '', ops = ''] = line.split(' ')
    if (word === 'full') this.#isFull = true
    if (word === 'ready') {
      this.#receiver = receiver
      this.#ops = ops
      this.sandbox.account(ACCOUNT).target = `${this.#receiver}/webhooks`
    }
    this.#awaited.get(word)?.()
    this.#awaited.delete(word)
  }

  /** Sends an order and waits until the product prints `word`. @throws Error if it ends first. */
  async #hearAfter(order: string, word: string): Promise<void> {
    const product = this.#running()
    const heard = this.#says(word)
    product.tell(order)
    const ended = product.ended().then((code) => {
      throw new Error(`it ended with ${code} and did not say ${word}:\n${this.#said.join('\n')}`)
    })
    await Promise.race([heard, ended])
  }

  async arm(point: string): Promise<void> {
    await this.#hearAfter(`arm ${point}`, 'armed')
  }

  /** Runs a command concurrently; see composition.ts. */
  command(words: string): void {
    this.#running().tell(words)
  }

  /** Asks the product to stop; it may be killed while stopping. */
  askToStop(): void {
    this.#isStopping = true
    this.#running().tell('stop')
  }

  async restart(): Promise<void> {
    this.#running().tell('stop')
    const code = await this.#running().ended()
    if (code !== 0) throw new Error(`it stopped with ${code}:\n${this.#said.join('\n')}`)
    await this.start()
  }

  /** Lets the product finish due work and checks the result. @param sinceMs when all reads are due again. */
  async settle(sinceMs = Date.now() - 60_000): Promise<void> {
    await checkSettled(this, await this.store(), sinceMs, new Set())
    await this.#push?.checkSettled(await this.store())
    this.touched.clear()
  }

  async kill(): Promise<void> {
    this.#running().kill()
    await this.death('from outside')
  }

  /** Ends an idle product without a check. */
  async end(): Promise<void> {
    this.#product?.kill()
    await this.#isGone()
  }

  /** Waits until the product is killed, and checks its database. @param where for the error message. */
  async death(where: string): Promise<void> {
    const code = await this.#within(where, this.#running().ended())
    if (code !== null) throw new Error(`it ended by itself before ${where}: ${code}:\n${this.#said.join('\n')}`)
    await this.#isGone()
    this.sandbox.faults.set([])
    await this.#checkDead()
  }

  /** Waits until the disk is full at `where`, checks database and answers, then frees the disk and restarts an ended product. */
  async fullDisk(where: string): Promise<void> {
    const product = this.#running()
    let hasEnded = false
    const ended = product.ended().then(() => {
      hasEnded = true
    })
    if (!this.#isFull) await this.#within(where, Promise.race([this.#says('full'), ended]))
    if (!this.#isFull) throw new Error(`it ended before ${where}:\n${this.#said.join('\n')}`)
    if (this.#receiver !== '' && !this.#isStopping) await expectRefusal(this.#receiver, this.sandbox.account(ACCOUNT).webhookSecret)
    this.sandbox.faults.set([SHORT_PAGES])
    await this.#checkDead()
    product.tell('room')
    this.#isFull = false
    if (this.#isStopping) await ended
    if (this.#receiver === '') await this.#within('a start', Promise.race([this.#says('ready'), ended]))
    if (hasEnded) await this.start()
  }

  /** Ends leases and backoffs in the running product, and makes all reads due. */
  async settleAll(): Promise<void> {
    await letTimePass(await this.store(), PASS_MS, { leases: true, submissionIds: [...this.touched] })
    await this.settle(Date.now())
  }

  /** Ends leases of killed processes, restarts the product, and checks the result. */
  async recover(): Promise<void> {
    const db = await this.store()
    const held = await leases(db)
    if (await isMigrated(db)) await letTimePass(db, PASS_MS, { leases: true, submissionIds: [...this.touched] })
    const since = Date.now()
    await this.start()
    await checkSettled(this, await this.store(), since, held)
    await this.#push?.checkSettled(await this.store())
    this.touched.clear()
  }

  async close(): Promise<void> {
    await this.end()
    await this.#products.close()
    await this.client.close()
    await this.sandbox.close()
    await this.#push?.close()
    await this.#place.remove()
  }

  #running(): Product {
    if (!this.#product) throw new Error('the product does not run')
    return this.#product
  }

  #says(word: string): Promise<void> {
    return new Promise((resolve) => this.#awaited.set(word, resolve))
  }

  /** @throws Error after the time limit. @param where for its message. */
  async #within<T>(where: string, coming: Promise<T>): Promise<T> {
    const late = new AbortController()
    const patience = systemClock.sleep(PATIENCE_MS, late.signal).then(() => {
      if (!late.signal.aborted) throw new Error(`it never came to ${where}:\n${this.#said.join('\n')}`)
    })
    return (await Promise.race([coming, patience]).finally(() => late.abort())) as T
  }

  async #isGone(): Promise<void> {
    await this.#product?.ended()
    this.#product = null
    await this.#closeStore()
    await this.#place.quiet()
  }

  async #checkDead(): Promise<void> {
    const db = await this.store()
    await checkDead(this, db)
    if (await isMigrated(db)) await this.#push?.checkDead(db)
  }

  async #closeStore(): Promise<void> {
    await this.#db?.close()
    this.#db = null
  }
}
