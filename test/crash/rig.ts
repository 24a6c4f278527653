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

/** Longer than every lease and every backoff that a round leaves behind. */
const PASS_MS = 1_200_000
/** How long one that was killed in this process may try in vain to store what came of its pushes. */
const CLOSING = '500ms'
/** Of what it said. */
const LINES_KEPT = 50
/** Feeds of many short pages, so that there are pages and cursors to be killed between. */
const SHORT_PAGES: FaultInput = { kind: 'short_page', probability: 0.7 }

/** Where the product pushes changes to, outside of it, and what must be true of that. */
export interface PushedTo {
  /** Of the product's first start, and of those that say nothing else. */
  readonly settings: Readonly<Record<string, string>>
  /** What must hold in the database of a product that was killed at any moment. */
  checkDead(db: Db): Promise<void>
  /** What must hold when it was started again and has applied what was due. */
  checkSettled(db: Db): Promise<void>
  close(): Promise<void>
}

/** Where the product runs: in processes, or in the one of the test. */
export type Home = 'processes' | 'here'

/**
 * The service in this process, the product here or in another one, killed and started again and again, and what must be true of the
 * database in between.
 */
export class CrashRig implements Outside {
  readonly sandbox: Sandbox
  readonly acknowledged: ReadonlyMap<string, readonly string[]>
  readonly touched = new Set<string>()
  /** What the product said in its log that an operator must see to. */
  readonly errors: string[] = []
  readonly client: UpstreamClient
  readonly #place: CrashPlace
  readonly #push: PushedTo | null
  readonly #settings: Record<string, string>
  readonly #products: Products
  readonly #said: string[] = []
  /** Words that are waited for, each at the beginning of a line. */
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

  /** @param push where changes are pushed; nowhere when left out. */
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

  /** Where changes are pushed; null: nowhere. */
  get push(): PushedTo | null {
    return this.#push
  }

  /** The origin of the operations port, and a token for its admin routes. */
  get ops(): string {
    return this.#ops
  }

  readonly opsToken = '0123456789-abcdef'

  /** The receiver's origin. */
  get receiver(): string {
    return this.#receiver
  }

  /** The store as the killed or running process has it. */
  async store(): Promise<Db> {
    this.#db ??= await openAgain(this.#place.config)
    return this.#db
  }

  /** Whether it has come to where it was armed: it has been killed, or its disk is full, and that has not been looked at yet. */
  get isThere(): boolean {
    return this.#isFull || (this.#product?.isKilled ?? false)
  }

  /**
   * Starts the product.
   * @param arm where it will be killed, see composition.ts; then nobody waits until it is ready.
   * @param settings that differ from here on. @param faults of the service from here on.
   */
  async start(arm?: string, settings: Readonly<Record<string, string>> = {}, faults: readonly FaultInput[] = []): Promise<void> {
    // Alone with its database, as it is in the field.
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
      this.sandbox.setTarget(ACCOUNT, `${this.#receiver}/webhooks`)
    }
    this.#awaited.get(word)?.()
    this.#awaited.delete(word)
  }

  /** Gives an order, and waits until the product says `word`. @throws Error when it ends before. */
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

  /** Has the product do what a command does, beside all the rest; see composition.ts. */
  command(words: string): void {
    this.#running().tell(words)
  }

  /** Asks the product to stop; it may be killed over it. */
  askToStop(): void {
    this.#isStopping = true
    this.#running().tell('stop')
  }

  /** Stops the product as a deployment does, and starts it again. */
  async restart(): Promise<void> {
    this.#running().tell('stop')
    const code = await this.#running().ended()
    if (code !== 0) throw new Error(`it stopped with ${code}:\n${this.#said.join('\n')}`)
    await this.start()
  }

  /** Lets the product do what is due, and looks at what came of it. @param sinceMs when everything is to be read again. */
  async settle(sinceMs = Date.now() - 60_000): Promise<void> {
    await checkSettled(this, await this.store(), sinceMs, new Set())
    await this.#push?.checkSettled(await this.store())
    this.touched.clear()
  }

  /** Kills the product from outside. */
  async kill(): Promise<void> {
    this.#running().kill()
    await this.death('from outside')
  }

  /** Ends the product that has nothing to do, without a look at what it leaves. */
  async end(): Promise<void> {
    this.#product?.kill()
    await this.#isGone()
  }

  /** Waits until the product is killed, and looks at what it left. @param where for the message when it is not killed. */
  async death(where: string): Promise<void> {
    const code = await this.#within(where, this.#running().ended())
    if (code !== null) throw new Error(`it ended by itself before ${where}: ${code}:\n${this.#said.join('\n')}`)
    await this.#isGone()
    this.sandbox.faults.set([])
    await this.#checkDead()
  }

  /**
   * Waits until the disk of the product is full at `where`, looks at what it left and how it answers, and makes room again. A product that
   * ends over it is started again.
   */
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

  /** Lets leases and backoffs end, beside the running product, and has it read everything again. */
  async settleAll(): Promise<void> {
    await letTimePass(await this.store(), PASS_MS, { leases: true, submissionIds: [...this.touched] })
    await this.settle(Date.now())
  }

  /** Lets the leases of the dead end, starts the product again, lets it settle, and looks at what came of it. */
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

  /** Resolves when the product begins a line with `word`. */
  #says(word: string): Promise<void> {
    return new Promise((resolve) => this.#awaited.set(word, resolve))
  }

  /** @throws Error when it takes too long. @param where for its message. */
  async #within<T>(where: string, coming: Promise<T>): Promise<T> {
    const late = new AbortController()
    const patience = systemClock.sleep(PATIENCE_MS, late.signal).then(() => {
      if (!late.signal.aborted) throw new Error(`it never came to ${where}:\n${this.#said.join('\n')}`)
    })
    return (await Promise.race([coming, patience]).finally(() => late.abort())) as T
  }

  /** Waits until nothing is left of a product that was killed. */
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
