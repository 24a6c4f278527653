import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createLog, type Log } from '../../src/base/log.ts'
import { mixOf, Unshown, type UnshownInput } from '../../src/sandbox/service/unshown.ts'
import { Prng } from '../../src/sandbox/world/prng.ts'
import { World } from '../../src/sandbox/world/world.ts'
import { Ams } from './ams.ts'
import { setRandom, setScheduler } from './globals.ts'
import { Look } from './look.ts'
import { brokenAnswer, brokenAtRest, brokenNow, type Evidence } from './oracle.ts'
import { destinationNamed, Product } from './product.ts'
import { brokenMirror, brokenProof, isRunEnded, Waits } from './rest.ts'
import { world as outside, Scheduler } from './scheduler.ts'
import { WebhookSender } from './sender.ts'
import { ACCOUNT, Service } from './service.ts'
import { Story } from './story.ts'
import { type FaultName, Weather } from './weather.ts'

const MINUTE = 60_000
/** Longer than every wait after the last fault. A read refused three times is retried after a day. */
const REST_MS = 30 * 60 * MINUTE
const LOOK_EVERY_MS = 5_000
/** The most frequent commits, irrelevant for the oracle. */
const QUIET_COMMITS = /^(read-claim|outbox|push)/
const CRASH_WITHIN_MS = 15_000

export interface SeedResult {
  readonly seed: number
  readonly broken: readonly string[]
  readonly hash: string
  readonly events: number
  readonly struck: Partial<Record<FaultName | 'crash' | 'stop' | 'clockStep', number>>
  readonly log: readonly string[]
}

export interface SeedOptions {
  readonly template: string
  readonly folder: string
  readonly trace: ((line: string) => void) | null
  /** Variants of the service; null: the seed's mix. */
  readonly variants: UnshownInput | null
}

export async function runSeed(seed: number, options: SeedOptions): Promise<SeedResult> {
  mkdirSync(options.folder, { recursive: true })
  const path = join(options.folder, 'mirror.db')
  copyFileSync(options.template, path)
  const simulation = new Simulation(seed, path, options)
  try {
    await simulation.run()
  } catch (error) {
    simulation.broken.push(error instanceof Error ? (error.stack ?? error.message) : String(error))
  } finally {
    simulation.close()
    rmSync(options.folder, { recursive: true, force: true })
  }
  return simulation.result()
}

class Simulation {
  readonly broken: string[] = []
  readonly #seed: number
  readonly #unshown: Unshown
  readonly #path: string
  readonly #prng: Prng
  readonly #scheduler: Scheduler
  readonly #weather: Weather
  readonly #world: World
  readonly #service: Service
  readonly #sender: WebhookSender
  readonly #story: Story
  readonly #look: Look
  readonly #destinations: readonly { readonly settings: ReturnType<typeof destinationNamed>; readonly ams: Ams }[]
  readonly #lines: string[] = []
  readonly #log: Log
  readonly #counts = { crash: 0, stop: 0, clockStep: 0 }
  readonly #unhandled = (error: unknown) => this.broken.push(`unhandled: ${error instanceof Error ? error.stack : String(error)}`)
  #product: Product
  #products = 0
  #stormEnded = false

  constructor(seed: number, path: string, { trace, variants }: SeedOptions) {
    this.#seed = seed
    this.#unshown = new Unshown(variants ?? mixOf(String(seed)))
    this.#path = path
    this.#prng = new Prng(`simulation ${seed}`)
    const fork = (name: string) => this.#prng.fork(name)
    const scheduler = new Scheduler(fork('schedule'), trace)
    this.#scheduler = scheduler
    setRandom(fork('product'))
    setScheduler(scheduler)
    process.on('unhandledRejection', this.#unhandled)
    const weather = new Weather(fork('weather'))
    this.#weather = weather
    this.#sender = new WebhookSender({
      scheduler,
      weather,
      prng: fork('sender'),
      unshown: this.#unshown,
      receive: (delivery, answer) => void this.#product.receive(delivery, answer),
      onAcknowledged: (id) => this.broken.push(...brokenAnswer(this.#look, id)),
    })
    this.#world = new World({
      prng: fork('world'),
      announce: (news) => this.#sender.announce(news),
      announceLate: fork('late').chance(0.5),
    })
    this.#world.addAccount(ACCOUNT)
    this.#service = new Service({ world: this.#world, scheduler, weather, prng: fork('service'), unshown: this.#unshown })
    this.#service.listen()
    this.#story = new Story(this.#world, scheduler, fork('story'))
    // Only one of the two kinds, since pushes are half of the work.
    const mayRepeat = fork('destination').chance(0.5)
    this.#destinations = [{ settings: destinationNamed('ams', mayRepeat), ams: new Ams(scheduler, weather, fork('ams'), !mayRepeat) }]
    this.#log = createLog({ level: 'info', pretty: false, secrets: [], destination: { write: (line) => this.#logged(line) } })
    this.#look = new Look(path)
    this.#product = this.#next()
    scheduler.onCommit = (name) => {
      if (!QUIET_COMMITS.test(name)) this.#lookNow()
    }
  }

  async run(): Promise<void> {
    const scheduler = this.#scheduler
    const plan = this.#prng.fork('plan')
    const stormMs = plan.int(60, 150) * 1_000
    this.#story.begin(plan.chance(0.7) ? 1 : 2, stormMs * 0.85)
    this.#product.start()
    this.#planStorm(plan, stormMs)
    while (scheduler.now < stormMs && this.broken.length === 0) {
      await scheduler.run(() => this.broken.length > 0, scheduler.now + LOOK_EVERY_MS)
      this.#lookNow()
    }
    this.#calm()
    for (const part of [() => this.#rest(), () => this.#prove(), () => this.#judge()]) if (this.broken.length === 0) await part()
  }

  result(): SeedResult {
    const { hash, events } = this.#scheduler
    const struck = { ...this.#weather.struck, ...this.#counts }
    return { seed: this.#seed, broken: this.broken, hash, events, struck, log: this.#lines.slice(-40) }
  }

  close(): void {
    this.#product.kill()
    this.#look.close()
    setScheduler(null)
    process.off('unhandledRejection', this.#unhandled)
  }

  #lookNow(): void {
    if (this.broken.length === 0) this.broken.push(...brokenNow(this.#evidence()))
  }

  #logged(line: string): void {
    this.#lines.push(line)
    this.#scheduler.note(`log ${line}`)
  }

  #next(): Product {
    const { broken } = this
    return new Product(
      {
        path: this.#path,
        scheduler: this.#scheduler,
        log: this.#log,
        destinations: this.#destinations,
        onFatal: (error) => broken.push(`the process ended: ${error instanceof Error ? error.stack : String(error)}`),
      },
      ++this.#products,
    )
  }

  #planStorm(plan: Prng, stormMs: number): void {
    const at = (action: () => void) => this.#scheduler.after(plan.next() * stormMs, 'plan', action, outside)
    for (const id of this.#story.submissionIds) if (plan.chance(0.7)) at(() => this.#product.isReady && this.#product.track(id))
    for (let n = plan.int(0, 2); n > 0; n--) at(() => this.#product.isReady && this.#product.reconcile({}))
    for (let n = plan.int(0, 6); n > 0; n--) at(() => (plan.chance(0.8) ? this.#planCrash(plan) : this.#stop(plan)))
    if (plan.chance(0.4)) for (let n = plan.int(1, 2); n > 0; n--) at(() => this.#stepClock(plan))
    if (plan.chance(0.2)) at(() => this.#hide(plan))
  }

  #calm(): void {
    this.#stormEnded = true
    this.#weather.clear()
    this.#service.clear()
    this.#scheduler.clockOffsetMs = 0
    this.#scheduler.breakpoint = null
    this.#scheduler.note('calm')
  }

  #planCrash(plan: Prng): void {
    const scheduler = this.#scheduler
    const crash = () => {
      scheduler.breakpoint = null
      cancel()
      this.#crash(plan)
    }
    const cancel = scheduler.after(CRASH_WITHIN_MS, 'no such step came', crash, outside)
    const steps = [...scheduler.steps]
    if (steps.length > 0) scheduler.breakpoint = { step: plan.pick(steps), hit: crash }
  }

  #crash(plan: Prng): void {
    if (this.#stormEnded || !this.#product.owner.alive) return
    this.#counts.crash += 1
    this.#product.kill()
    this.#lookNow()
    this.#restart(plan.next() * 20_000)
  }

  #stop(plan: Prng): void {
    if (this.#stormEnded || !this.#product.isReady) return
    this.#counts.stop += 1
    const product = this.#product
    const end = () => {
      product.kill()
      this.#restart(plan.next() * 10_000)
    }
    const kill = this.#scheduler.after(12_000, 'the grace period is over', end, outside)
    product.stop(() => {
      kill()
      this.#scheduler.after(0, 'the process ended', end, outside)
    })
  }

  #restart(afterMs: number): void {
    this.#scheduler.after(
      afterMs,
      'restart',
      () => {
        if (this.#product.owner.alive) return
        this.#product = this.#next()
        this.#product.start()
      },
      outside,
    )
  }

  #stepClock(plan: Prng): void {
    if (this.#stormEnded) return
    this.#counts.clockStep += 1
    const stepMs = (plan.next() * 2 - 1) * plan.pick([2_000, 4 * MINUTE, 45 * MINUTE])
    this.#scheduler.clockOffsetMs += stepMs
    this.#scheduler.note(`the clock steps by ${Math.round(stepMs)} ms`)
  }

  #hide(plan: Prng): void {
    const id = plan.pick(this.#story.submissionIds)
    this.#service.hidden.add(id)
    this.#scheduler.after(plan.next() * 3 * MINUTE, 'found again', () => this.#service.hidden.delete(id), outside)
  }

  #evidence(): Evidence {
    return {
      look: this.#look,
      world: this.#world,
      service: this.#service,
      acknowledged: this.#sender.acknowledged,
      items: this.#sender.items,
      destinations: this.#destinations.map(({ settings, ams }) => ({ name: settings.name, ams, once: !settings.idempotent })),
    }
  }

  async #rest(): Promise<void> {
    const scheduler = this.#scheduler
    const waits = new Waits(this.#look, this.#sender, scheduler.wallMs)
    for (const until = scheduler.now + REST_MS; scheduler.now < until; ) {
      await scheduler.run(() => this.broken.length > 0, scheduler.now + LOOK_EVERY_MS)
      if (this.broken.length > 0 || (this.#product.isReady && waits.left().length === 0)) return
    }
    this.broken.push(`no rest within ${REST_MS / MINUTE} minutes: ${waits.left().join(', ')}`)
  }

  async #prove(): Promise<void> {
    const scheduler = this.#scheduler
    let runId: string | null = null
    this.#product.reconcile({ dry_run: true }, (id) => {
      runId = id
    })
    const untilMs = scheduler.now + 10 * MINUTE
    while (!isRunEnded(this.#look, runId) && scheduler.now < untilMs)
      await scheduler.run(() => this.broken.length > 0, scheduler.now + LOOK_EVERY_MS)
    this.broken.push(...brokenProof(this.#look, runId))
  }

  async #judge(): Promise<void> {
    this.broken.push(...brokenAtRest(this.#evidence()))
    this.#product.kill()
    setScheduler(null)
    this.broken.push(...(await brokenMirror(this.#path, this.#look, this.#world, this.#unshown, this.#log)))
  }
}
