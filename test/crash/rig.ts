import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { systemClock } from '../../src/base/clock.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { FaultInput } from '../../src/sandbox/service/faults.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { waitFor } from '../e2e/agreement.ts'
import { accountEnv, databaseEnv } from '../e2e/serve.ts'
import { letTimePass } from '../e2e/time.ts'
import { type Child, startChild } from '../tools/child.ts'
import { openAgain } from '../tools/databases.ts'
import { programPath } from '../tools/program.ts'
import { sandboxClient } from '../tools/sandbox-client.ts'
import { ACCOUNT, checkDead, checkSettled, expectRefusal, isMigrated, leases, type Outside } from './checks.ts'
import type { CrashPlace } from './place.ts'

/** Longer than every lease and every backoff that a round leaves behind. */
const PASS_MS = 1_200_000
const DEATH_MS = 60_000
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

/**
 * The service in this process, the product in another one that is killed and started again and again, and what must be true of the
 * database in between.
 */
export class CrashRig implements Outside {
  readonly sandbox: Sandbox
  readonly acknowledged: ReadonlyMap<string, readonly string[]>
  readonly touched = new Set<string>()
  /** What the product said in its log that an operator must see to. */
  readonly errors: string[] = []
  readonly client: UpstreamClient
  readonly #program: string
  readonly #place: CrashPlace
  readonly #push: PushedTo | null
  readonly #settings: Record<string, string>
  #child: Child | null = null
  #receiver = ''
  #ops = ''
  /** Loaded and waiting for its orders, so that nobody waits for it. */
  #spare: Child
  #db: Db | null = null
  #said = () => ''
  #isFull = false
  #isStopping = false

  private constructor(
    program: string,
    place: CrashPlace,
    sandbox: Sandbox,
    acknowledged: ReadonlyMap<string, readonly string[]>,
    push: PushedTo | null,
  ) {
    this.#program = program
    this.#spare = startChild(program, [])
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
      ...push?.settings,
    }
    this.client = sandboxClient(sandbox, ACCOUNT, { requestsPerSecond: 10_000 })
  }

  /** @param push where changes are pushed; nowhere when left out. */
  static async open(place: CrashPlace, push: PushedTo | null = null): Promise<CrashRig> {
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
    return new CrashRig(await programPath('crash-child'), place, sandbox, acknowledged, push)
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
    return this.#isFull || (this.#child !== null && this.#child.process.signalCode !== null)
  }

  /**
   * Starts the product.
   * @param arm where it will be killed, see child.ts; then nobody waits until it is ready.
   * @param settings that differ from here on. @param faults of the service from here on.
   */
  async start(arm?: string, settings: Readonly<Record<string, string>> = {}, faults: readonly FaultInput[] = []): Promise<void> {
    // Alone with its database, as it is in the field.
    await this.#closeStore()
    Object.assign(this.#settings, settings)
    this.#child = this.#spare
    this.#receiver = ''
    this.#isStopping = false
    createInterface({ input: this.#child.process.stdout as Readable }).on('line', (line) => this.#hear(line))
    let said = ''
    this.#child.process.stdout?.on('data', (chunk) => {
      said = `${said}${String(chunk)}`.slice(-6_000)
      this.errors.push(...(String(chunk).match(/\{"level":50,[^\n]*/g) ?? []))
    })
    this.#said = () => said
    this.#spare = startChild(this.#program, [])
    this.sandbox.faults.set([SHORT_PAGES, ...faults])
    if (arm) this.#child.tell(`arm ${arm}`)
    this.#child.tell(`start ${JSON.stringify(this.#settings)}`)
    if (!arm) await this.#ready()
  }

  #hear(line: string): void {
    const [word, receiver = '', ops = ''] = line.split(' ')
    if (word === 'full') this.#isFull = true
    if (word !== 'ready') return
    this.#receiver = receiver
    this.#ops = ops
    this.sandbox.setTarget(ACCOUNT, `${this.#receiver}/webhooks`)
  }

  async #ready(): Promise<void> {
    await this.#running().says('ready')
    // The same line may be heard here first.
    await waitFor(() => this.#receiver !== '', DEATH_MS)
  }

  async arm(point: string): Promise<void> {
    this.#running().tell(`arm ${point}`)
    await this.#running().says('armed')
  }

  /** Has the product's process do what a command does, beside all the rest; see child.ts. */
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
    const child = this.#running()
    child.tell('stop')
    const code = await child.ended()
    if (code !== 0) throw new Error(`it stopped with ${code}:\n${this.#said()}`)
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
    this.#running().process.kill('SIGKILL')
    await this.death('from outside')
  }

  /** Ends the product that has nothing to do, without a look at what it leaves. */
  async end(): Promise<void> {
    await this.#child?.kill()
    this.#child = null
    await this.#closeStore()
    await this.#place.quiet()
  }

  /** Waits until the product is killed, and looks at what it left. @param where for the message when it is not killed. */
  async death(where: string): Promise<void> {
    const child = this.#running()
    const late = new AbortController()
    const patience = systemClock.sleep(DEATH_MS, late.signal).then(() => 'late' as const)
    if ((await Promise.race([child.ended(), patience])) === 'late') throw new Error(`it never came to ${where}:\n${this.#said()}`)
    late.abort()
    if (child.process.signalCode !== 'SIGKILL') throw new Error(`it ended by itself before ${where}: ${child.process.exitCode}`)
    this.#child = null
    this.sandbox.faults.set([])
    await this.#closeStore()
    await this.#place.quiet()
    const db = await this.store()
    await checkDead(this, db)
    if (await isMigrated(db)) await this.#push?.checkDead(db)
  }

  /**
   * Waits until the disk of the product is full at `where`, looks at what it left and how it answers, and makes room again. A product that
   * ends over it is started again.
   */
  async fullDisk(where: string): Promise<void> {
    const child = this.#running()
    let hasEnded = false
    const ended = child.ended().then(() => {
      hasEnded = true
    })
    if (!(await waitFor(() => this.#isFull || hasEnded, DEATH_MS)) || !this.#isFull)
      throw new Error(`it never came to ${where}:\n${this.#said()}`)
    if (this.#receiver !== '' && !this.#isStopping) await expectRefusal(this.#receiver, this.sandbox.account(ACCOUNT).webhookSecret)
    this.sandbox.faults.set([SHORT_PAGES])
    const db = await this.store()
    await checkDead(this, db)
    if (await isMigrated(db)) await this.#push?.checkDead(db)
    child.tell('room')
    this.#isFull = false
    if (this.#isStopping) await ended
    await waitFor(() => this.#receiver !== '' || hasEnded, DEATH_MS)
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
    await this.#spare.kill()
    await this.#child?.kill()
    await this.#closeStore()
    await this.client.close()
    await this.sandbox.close()
    await this.#push?.close()
    await this.#place.remove()
  }

  #running(): Child {
    if (!this.#child) throw new Error('the product does not run')
    return this.#child
  }

  async #closeStore(): Promise<void> {
    await this.#db?.close()
    this.#db = null
  }
}
