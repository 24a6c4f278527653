import { endsWithin } from '../base/abortable.ts'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { type Service, supervise } from '../base/service.ts'
import { sameSettings } from '../config/same-settings.ts'
import type { ProcessCounts } from '../store/upkeep/processes.ts'

export interface ServiceGroup {
  /** Unique name. */
  readonly name: string
  /** Settings that the group uses. A reload restarts the group only if one of them changes. */
  readonly settings: readonly unknown[]
  /** Whether to stop this group before the receiver. Its requests in flight then have the full grace period. */
  readonly endsFirst?: boolean
  /** Creates the services without starting them. */
  make(): Promise<GroupServices>
}

export interface GroupServices {
  readonly services: readonly Service[]
  /** Runs just before the services start. */
  onStart?(): void
  /**
   * Receives how many processes read from the service, and how many push to destinations. Both counts include this
   * process. The processes share the rate limits.
   */
  shareAmong?(sharing: ProcessCounts): void
  /** Aborts work in flight and releases resources, even if the services never started. */
  close?(): Promise<void>
}

export interface GroupChange {
  readonly added: ReadonlyMap<ServiceGroup, GroupServices>
  readonly leaving: readonly string[]
}

export interface ServiceGroupsOptions {
  readonly clock: Clock
  readonly log: Log
  /** Time for a group to finish work in flight, in ms. */
  readonly graceMs: () => number
  /** Runs when a service fails with a FatalError. Other failures only restart the service. */
  readonly onFailure: (error: unknown) => void
}

interface RunningGroup {
  readonly group: ServiceGroup
  readonly made: GroupServices
  readonly stopping: AbortController
  readonly ended: Promise<unknown>
}

export class ServiceGroups {
  readonly #o: ServiceGroupsOptions
  readonly #running = new Map<string, RunningGroup>()
  #sharing: ProcessCounts = { reading: 1, pushing: 1 }
  #stopping = false

  constructor(options: ServiceGroupsOptions) {
    this.#o = options
  }

  /**
   * Creates the services of new and changed groups. Doesn't start or stop anything.
   * @throws errors of `make`, after closing the groups created so far.
   */
  async prepare(groups: readonly ServiceGroup[]): Promise<GroupChange> {
    const made = new Map<ServiceGroup, GroupServices>()
    try {
      for (const group of groups) if (!this.#isAsBefore(group)) made.set(group, await group.make())
    } catch (error) {
      await closeAll(made.values())
      throw error
    }
    const wanted = new Map(groups.map((group) => [group.name, group]))
    const leaving = [...this.#running.keys()].filter((name) => {
      const group = wanted.get(name)
      return group === undefined || made.has(group)
    })
    return { added: made, leaving }
  }

  /** Stops the leaving groups in parallel, then starts the added groups. */
  async change({ added: made, leaving }: GroupChange): Promise<void> {
    await Promise.all(leaving.map((name) => this.#end(name)))
    if (this.#stopping) return await closeAll(made.values())
    for (const [group, each] of made) this.#begin(group, each)
  }

  /** Closes the groups that `prepare` created. */
  async discard(change: GroupChange): Promise<void> {
    await closeAll(change.added.values())
  }

  shareAmong(sharing: ProcessCounts): void {
    this.#sharing = sharing
    for (const { made } of this.#running.values()) made.shareAmong?.(sharing)
  }

  /**
   * Prevents new groups from starting, and asks running groups to finish work in flight.
   * @param which `first`: only groups with `endsFirst`. `all`: all groups.
   */
  stop(which: 'first' | 'all'): void {
    this.#stopping = true
    for (const { group, stopping } of this.#running.values()) if (which === 'all' || group.endsFirst) stopping.abort()
  }

  async ended(): Promise<void> {
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended))
  }

  async close(): Promise<void> {
    await closeAll([...this.#running.values()].map(({ made }) => made))
  }

  #isAsBefore(group: ServiceGroup): boolean {
    const running = this.#running.get(group.name)
    return running !== undefined && sameSettings(running.group.settings, group.settings)
  }

  #begin(group: ServiceGroup, made: GroupServices): void {
    const { clock, log, onFailure } = this.#o
    const stopping = new AbortController()
    made.onStart?.()
    made.shareAmong?.(this.#sharing)
    const ended = Promise.all(made.services.map((service) => supervise(service, clock, log, stopping.signal)))
    ended.catch(onFailure)
    this.#running.set(group.name, { group, made, stopping, ended })
  }

  async #end(name: string): Promise<void> {
    const running = this.#running.get(name)
    if (running === undefined) return
    const { clock, log, graceMs } = this.#o
    running.stopping.abort()
    if (!(await endsWithin(clock, graceMs(), running.ended)))
      log.warn(
        { group: name },
        `${name} did not finish its work within SHUTDOWN_GRACE (${graceMs() / 1000} s) and was aborted; the work will be repeated later`,
      )
    // Closing aborts work that is still in flight. The aborted work may use the old group's resources for a short time.
    // The new group has its own resources.
    await running.made.close?.().catch((error: unknown) => log.warn({ group: name, err: error }, messageOf(error)))
    this.#running.delete(name)
  }
}

/**
 * Makes a group with one service.
 * @param settings the settings that the service uses. If the list is empty, a reload never replaces the service.
 */
export function groupOf(service: Service, settings: readonly unknown[] = []): ServiceGroup {
  return { name: service.name, settings, make: async () => ({ services: [service] }) }
}

async function closeAll(made: Iterable<GroupServices>): Promise<void> {
  await Promise.allSettled([...made].map((each) => each.close?.()))
}
