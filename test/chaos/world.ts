import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Db } from '../../src/store/engine/db.ts'
import { setDestinationState } from '../../src/store/outbox/destinations.ts'
import { storeMappings } from '../../src/store/outbox/push-map.ts'
import { retryRows, skipRows } from '../../src/store/outbox/retry.ts'
import { ACCOUNT } from '../crash/checks.ts'
import type { PushedTo } from '../crash/rig.ts'
import { bodyFaults, isDone, outboxFaults, pushFaults } from '../push/agreement.ts'
import type { Hooks } from '../push/hooks.ts'
import { outboxOf, type StoredRow } from '../push/outbox.ts'
import { countedDestination } from '../tools/destinations.ts'
import { startAms360Target, startEpicTarget, startHawkSoftTarget } from './ams.ts'
import { startFolder, startSftp } from './files.ts'
import type { Target } from './target.ts'
import { startRest, startSoap } from './templates.ts'
import { startWebhooks } from './webhooks.ts'

/** Every kind of destination with its own faults, and the operator who settles what the product can't. */
export class World implements PushedTo {
  readonly targets: readonly Target[]
  readonly settings: Readonly<Record<string, string>>
  /** By destination, how many dead and unknown changes an operator settled. */
  readonly settled = new Map<string, { dead: number; unknown: number }>()
  readonly #hooks: Hooks
  readonly #folder = mkdtempSync(join(tmpdir(), 'submission-mirror-chaos-'))
  /** By destination, ids of skipped changes that later ones overtook. */
  readonly #late = new Map<string, Set<string>>()

  private constructor(hooks: Hooks, targets: readonly Target[]) {
    this.#hooks = hooks
    this.targets = targets
    const path = join(this.#folder, 'mirror.yaml')
    writeFileSync(path, JSON.stringify({ destinations: targets.map(({ destination }) => destination) }))
    this.settings = Object.assign({ CONFIG_FILE: path }, ...targets.map(({ env }) => env))
  }

  static async open(seed: string): Promise<World> {
    const { hooks, targets } = await startWebhooks(seed)
    const others = await Promise.all([
      startRest(seed),
      startSoap(seed),
      startAms360Target(seed),
      startEpicTarget(seed),
      startHawkSoftTarget(seed),
      startFolder(),
      startSftp(seed),
    ])
    return new World(hooks, [...targets, ...others])
  }

  find(name: string): Target {
    const found = this.targets.find(({ destination }) => destination.name === name)
    if (!found) throw new Error(`there is no destination ${name}`)
    return found
  }

  get arrived(): number {
    return this.#hooks.arrivals.length
  }

  async map(db: Db, submissionIds: readonly string[]): Promise<void> {
    const rows = this.targets.flatMap(({ destination, client }) =>
      client === undefined
        ? []
        : submissionIds.map((submissionId) => ({
            destination: destination.name,
            account: ACCOUNT,
            submissionId,
            client,
            policy: null,
            fields: {},
          })),
    )
    await storeMappings(db, rows, 'import')
  }

  async checkDead(db: Db): Promise<void> {
    const faults: string[] = []
    for (const { destination, wants, taken } of this.targets) {
      faults.push(...(await outboxFaults(db, { destination: destination.name, wants }, taken())))
    }
    expect(faults, 'the outbox').toEqual([])
  }

  /** Changes are still in transit then. */
  async checkSettled(): Promise<void> {}

  async resume(db: Db, names: readonly string[]): Promise<void> {
    for (const name of names) await setDestinationState(db, name, 'active', null)
  }

  /** Settles dead and unknown changes as an operator does. */
  async settle(db: Db): Promise<void> {
    for (const target of this.targets) {
      const state = await countedDestination(db.read, target.destination.name)
      if (state !== null && state.dead + state.unknown > 0) await this.#settle(db, target)
    }
  }

  async isDone(db: Db): Promise<boolean> {
    for (const { destination } of this.targets) if (!(await isDone(db, destination.name))) return false
    return true
  }

  /** Skips what the target has; retries the rest. */
  async #settle(db: Db, target: Target): Promise<void> {
    const { name } = target.destination
    const given = (await outboxOf(db, name)).filter(({ state }) => state === 'dead' || state === 'unknown')
    // Two turns of the event loop let the target read pending requests.
    for (let turns = 0; turns < 2; turns++) await new Promise(setImmediate)
    const taken = new Set(target.taken())
    const idsOf = (rows: readonly StoredRow[]) => ({ outboxIds: rows.map((row) => row.outbox_id) })
    const sum = this.settled.get(name) ?? { dead: 0, unknown: 0 }
    this.settled.set(name, sum)
    for (const { state } of given) sum[state === 'dead' ? 'dead' : 'unknown'] += 1
    const missing = given.filter((row) => !taken.has(row.message_id))
    // Later changes went first, unless the destination holds the stream.
    if (target.destination['on_dead'] !== 'hold') for (const row of given) this.#lateOf(name).add(row.message_id)
    await retryRows(db, idsOf(missing), 0, 1_000)
    await skipRows(db, idsOf(given.filter((row) => taken.has(row.message_id))), 0, 1_000)
  }

  #lateOf(name: string): Set<string> {
    const late = this.#late.get(name) ?? new Set()
    this.#late.set(name, late)
    return late
  }

  /** Checks a target's changes when nothing waits. @returns one line for each fault. */
  async faults(db: Db, target: Target): Promise<string[]> {
    const { destination, wants, once } = target
    const { name } = destination
    const taken = target.taken()
    const faults = await pushFaults(db, { destination: name, wants, outOfTurn: this.#lateOf(name) }, taken)
    const twice = once ? taken.filter((id, position) => taken.indexOf(id) !== position) : []
    faults.push(...twice.map((id) => `${name}: ${id} was taken twice`))
    faults.push(
      ...(await bodyFaults(
        db,
        this.#hooks.arrivals.filter(({ hook }) => hook === name),
      )),
    )
    if (this.#hooks.forged > 0) faults.push('a signature was wrong')
    return faults
  }

  async close(): Promise<void> {
    for (const target of this.targets) await target.close()
    await this.#hooks.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
