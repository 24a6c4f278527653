import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import type { Db } from '../../store/engine/db.ts'
import {
  beginFilter,
  type DestinationRow,
  type DestinationStart,
  ensureDestinations,
  findDestination,
  noteFilterError,
} from '../../store/outbox/destinations.ts'
import { FanOut, type FanOutOptions, SWEEP_MS, waitsForClocks } from './fan-out.ts'
import { type Filtered, type FilteredStep, stepChanges, stepFilteredRestatement, stepFilteredSnapshot } from './filtered-steps.ts'
import { ContentFilter } from './judge.ts'
import type { FanOutDestination } from './queued-rows.ts'

/**
 * Delay before a failed filter is retried, in ms. If you correct the filter and reload the settings, this service
 * restarts without this delay.
 */
const RETRY_MS = 60_000

export interface FilteredFanOutOptions extends Pick<FanOutOptions, 'db' | 'log' | 'isClockTrusted'> {
  readonly destination: FanOutDestination & DestinationStart
  readonly filter: string
}

/**
 * Copies changes from the change log to the outbox of one destination with a `filter`. Each such destination has its
 * own service, so a slow or failing filter delays no other destination. Several processes may run this service. The
 * first commit wins, and the other processes read again.
 */
export class FilteredFanOut implements Service {
  readonly name: string
  readonly #db: Db
  readonly #log: Log
  readonly #isClockTrusted: () => Promise<boolean>
  readonly #destination: FanOutDestination & DestinationStart
  readonly #to: Filtered
  #isWaitLogged = false

  constructor({ db, log, isClockTrusted, destination, filter }: FilteredFanOutOptions) {
    this.name = `fan-out to ${destination.name}`
    this.#db = db
    this.#log = log
    this.#isClockTrusted = isClockTrusted
    this.#destination = destination
    this.#to = { db, destination, filter: new ContentFilter(filter) }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { more, failed } = await this.step()
      if (failed !== null) await this.#db.clock.sleep(RETRY_MS, signal)
      else if (!more) await this.#db.signals.wait('changes', SWEEP_MS, signal)
    }
  }

  /**
   * Takes one step.
   * @throws TransientError if the filter can't be evaluated now.
   */
  async step(): Promise<FilteredStep> {
    const state = await findDestination(this.#db.read, this.#destination.name)
    if (state === null) {
      await ensureDestinations(this.#db, [this.#destination])
      return { more: true, failed: null }
    }
    if (state.filtered_from === null) {
      await beginFilter(this.#db, this.#destination.name)
      return { more: true, failed: null }
    }
    const step = await this.#stepFrom(state)
    await this.#noteFailure(state, step.failed)
    return step
  }

  close(): void {
    this.#to.filter.close()
  }

  async #stepFrom(state: DestinationRow): Promise<FilteredStep> {
    const isTrusted = async () => this.#destination.maxAgeMs === null || (await this.#isClockTrusted())
    if (state.snapshot !== null && !(await isTrusted())) return { more: false, failed: null }
    const changes = await this.#changes(state, isTrusted)
    if (changes.more || changes.failed !== null) return changes
    if (state.snapshot === null) return await stepFilteredRestatement(this.#to, await this.#again(state))
    const { isOver, ...step } = await stepFilteredSnapshot(this.#to, await this.#again(state))
    const { name } = this.#destination
    if (isOver === true) this.#log.info({ destination: name }, `all rows of the snapshot for destination ${name} are queued`)
    return step
  }

  async #changes(state: DestinationRow, isTrusted: () => Promise<boolean>): Promise<FilteredStep> {
    const first = await stepChanges(this.#to, state, state.snapshot !== null)
    if (first.isHeld !== true) return first
    if (await isTrusted()) {
      this.#isWaitLogged = false
      return await stepChanges(this.#to, await this.#again(state), true)
    }
    if (!this.#isWaitLogged) this.#log.warn({ destination: this.#destination.name }, waitsForClocks(this.#destination.name))
    this.#isWaitLogged = true
    return first
  }

  /** Reads the destination's state again, because a step may have moved its cursor. */
  async #again(state: DestinationRow): Promise<DestinationRow> {
    return (await findDestination(this.#db.read, this.#destination.name)) ?? state
  }

  async #noteFailure({ filter_error: known }: DestinationRow, failed: string | null): Promise<void> {
    if (failed === known) return
    const { name } = this.#destination
    await noteFilterError(this.#db, name, failed)
    if (failed === null) this.#log.info({ destination: name }, `the filter of destination ${name} no longer fails`)
    else
      this.#log.error({ destination: name }, `the filter of destination ${name} fails, so its changes wait (${failed}); fix it, and reload`)
  }
}

/** Fan-out services: one for all destinations without a `filter`, and one per destination with a `filter`. */
export interface FanOuts {
  readonly services: readonly Service[]
  close(): Promise<void>
}

export function createFanOuts(options: FanOutOptions): FanOuts {
  const plain = options.destinations.filter(({ filter }) => filter === null)
  const filtered = options.destinations.flatMap((destination) =>
    destination.filter === null ? [] : [new FilteredFanOut({ ...options, destination, filter: destination.filter })],
  )
  return {
    services: [...(plain.length === 0 ? [] : [new FanOut({ ...options, destinations: plain })]), ...filtered],
    async close() {
      for (const each of filtered) each.close()
    },
  }
}
