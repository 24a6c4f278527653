import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/clock.ts'
import { silentObserver } from '../../src/observe.ts'
import type { FaultInput } from '../../src/sandbox/faults.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import type { Db } from '../../src/store/db.ts'
import { createUpstreamClient, type UpstreamClient } from '../../src/upstream/client.ts'
import { accountEnv, databaseEnv } from '../e2e/serve.ts'
import { letTimePass } from '../e2e/time.ts'
import { type Child, startChild } from '../tools/child.ts'
import { openAgain } from '../tools/databases.ts'
import { ACCOUNT, checkDead, checkSettled, isMigrated, leases, type Outside } from './checks.ts'
import type { CrashPlace } from './place.ts'

/** Longer than every lease and every backoff that a round leaves behind. */
const PASS_MS = 1_200_000
const DEATH_MS = 15_000
/** So that a process is ready the sooner. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url))
/** Feeds of many short pages, so that there are pages and cursors to be killed between. */
const SHORT_PAGES: FaultInput = { kind: 'short_page', probability: 0.7 }

/**
 * The service in this process, the product in another one that is killed and started again and again, and what must be true of the
 * database in between.
 */
export class CrashRig implements Outside {
  readonly sandbox: Sandbox
  readonly acknowledged: ReadonlyMap<string, readonly string[]>
  readonly touched = new Set<string>()
  readonly client: UpstreamClient
  readonly #place: CrashPlace
  readonly #settings: Record<string, string>
  #child: Child | null = null
  #receiver = ''
  /** Loaded and waiting for its orders, so that nobody waits for it. */
  #spare = loadChild()
  #db: Db | null = null
  #said = () => ''

  private constructor(place: CrashPlace, sandbox: Sandbox, acknowledged: ReadonlyMap<string, readonly string[]>) {
    this.#place = place
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
      UPSTREAM_RPS: '1000',
      LOG_LEVEL: 'warn',
    }
    this.client = createUpstreamClient({
      account: ACCOUNT,
      baseUrl: sandbox.baseUrl,
      credentials: sandbox
        .account(ACCOUNT)
        .credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: { reveal: () => clientSecret } })),
      scope: 'broker_mcp',
      requestsPerSecond: 10_000,
      proxy: {},
      clock: systemClock,
      observer: silentObserver,
    })
  }

  static async open(place: CrashPlace): Promise<CrashRig> {
    const acknowledged = new Map<string, readonly string[]>()
    const sandbox = await startSandbox({
      submissions: 0,
      autoStart: false,
      retryScheduleMs: Array.from({ length: 1_000 }, () => 50),
      observe(notice) {
        if (notice.kind === 'delivery' && notice.outcome === 'acknowledged') acknowledged.set(notice.deliveryId, notice.itemIds)
      },
    })
    return new CrashRig(place, sandbox, acknowledged)
  }

  /** The receiver's origin. */
  get receiver(): string {
    return this.#receiver
  }

  /** The store as the killed or running process has it. */
  async store(): Promise<Db> {
    this.#db ??= await openAgain(this.#place.config)
    return this.#db
  }

  /** Whether it has been killed, and its death not been looked at yet. */
  get isDead(): boolean {
    return this.#child !== null && this.#child.process.signalCode !== null
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
    let said = ''
    this.#child.process.stdout?.on('data', (chunk) => {
      said = `${said}${String(chunk)}`.slice(-6_000)
    })
    this.#said = () => said
    this.#spare = loadChild()
    this.sandbox.faults.set([SHORT_PAGES, ...faults])
    if (arm) this.#child.tell(`arm ${arm}`)
    this.#child.tell(`start ${JSON.stringify(this.#settings)}`)
    if (!arm) await this.#ready()
  }

  async #ready(): Promise<void> {
    this.#receiver = await this.#running().says('ready')
    this.sandbox.setTarget(ACCOUNT, `${this.#receiver}/webhooks`)
  }

  async arm(point: string): Promise<void> {
    this.#running().tell(`arm ${point}`)
    await this.#running().says('armed')
  }

  /** Asks the product to stop; it may be killed over it. */
  askToStop(): void {
    this.#running().tell('stop')
  }

  /** Lets the product do what is due, and looks at what came of it. */
  async settle(): Promise<void> {
    await checkSettled(this, await this.store(), Date.now() - 60_000, new Set())
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
    await checkDead(this, await this.store())
  }

  /** Lets the leases of the dead end, starts the product again, lets it settle, and looks at what came of it. */
  async recover(): Promise<void> {
    const db = await this.store()
    const held = await leases(db)
    if (await isMigrated(db)) await letTimePass(db, PASS_MS, { leases: true, submissionIds: [...this.touched] })
    const since = Date.now()
    await this.start()
    await checkSettled(this, await this.store(), since, held)
    this.touched.clear()
  }

  async close(): Promise<void> {
    await this.#spare.kill()
    await this.#child?.kill()
    await this.#closeStore()
    await this.client.close()
    await this.sandbox.close()
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

function loadChild(): Child {
  return startChild('crash/child.ts', [], `NODE_COMPILE_CACHE=${COMPILED}; export NODE_COMPILE_CACHE`)
}
