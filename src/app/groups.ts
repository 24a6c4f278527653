import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { type Service, supervise } from '../base/service.ts'
import { sameSettings } from '../config/same.ts'
import type { Sharing } from '../store/upkeep/processes.ts'

/** Services that begin and end together. */
export interface Group {
  /** No other group has it. */
  readonly name: string
  /** What of the settings it goes by: new settings that change none of it leave the group alone. */
  readonly settings: readonly unknown[]
  /** Whether it is told to end before the receiver is: what it has under way may need all of the time that there is. */
  readonly endsFirst?: boolean
  /** Makes the services, which do nothing yet. */
  make(): Promise<Made>
}

/** What a group made of the settings. */
export interface Made {
  readonly services: readonly Service[]
  /** Is called just before the services begin. */
  begin?(): void
  /** How many processes do the same, this one included. */
  shareAmong?(sharing: Sharing): void
  /** Breaks off what is under way and gives back what was used; also when the services never began. */
  close?(): Promise<void>
}

/** Groups that are made, and those that have to end before they can begin. */
export interface GroupChange {
  readonly made: ReadonlyMap<Group, Made>
  readonly leaving: readonly string[]
}

export interface GroupsOptions {
  readonly clock: Clock
  readonly log: Log
  /** How long a group may take to end what it has in hand. */
  readonly graceMs: () => number
  /** A service found that the process cannot go on. */
  readonly onFailure: (error: unknown) => void
}

interface RunningGroup {
  readonly group: Group
  readonly made: Made
  readonly stopping: AbortController
  readonly ended: Promise<unknown>
}

/** The groups that run, and how they give way to others when the settings change. */
export class Groups {
  readonly #o: GroupsOptions
  readonly #running = new Map<string, RunningGroup>()
  #sharing: Sharing = { reading: 1, pushing: 1 }
  #stopping = false

  constructor(options: GroupsOptions) {
    this.#o = options
  }

  /**
   * Makes of `groups` those that are new or go by other settings than the running ones; nothing begins or ends yet.
   * @throws what making one throws; what was made before it is given back.
   */
  async prepare(groups: readonly Group[]): Promise<GroupChange> {
    const made = new Map<Group, Made>()
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
    return { made, leaving }
  }

  /** Ends the groups that give way, all at once, then begins the new ones. Whatever runs besides goes on meanwhile. */
  async change({ made, leaving }: GroupChange): Promise<void> {
    await Promise.all(leaving.map((name) => this.#end(name)))
    if (this.#stopping) return await closeAll(made.values())
    for (const [group, each] of made) this.#begin(group, each)
  }

  /** Gives back what `prepare` made and nobody wants after all. */
  async discard(change: GroupChange): Promise<void> {
    await closeAll(change.made.values())
  }

  shareAmong(sharing: Sharing): void {
    this.#sharing = sharing
    for (const { made } of this.#running.values()) made.shareAmong?.(sharing)
  }

  /** From now on nothing begins any more, and those that end first, or all, finish what they have in hand. */
  stop(which: 'first' | 'all'): void {
    this.#stopping = true
    for (const { group, stopping } of this.#running.values()) if (which === 'all' || group.endsFirst) stopping.abort()
  }

  /** Resolves when none runs any more. */
  async ended(): Promise<void> {
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended))
  }

  /** Breaks off whatever still runs. */
  async close(): Promise<void> {
    await closeAll([...this.#running.values()].map(({ made }) => made))
  }

  #isAsBefore(group: Group): boolean {
    const running = this.#running.get(group.name)
    return running !== undefined && sameSettings(running.group.settings, group.settings)
  }

  #begin(group: Group, made: Made): void {
    const { clock, log, onFailure } = this.#o
    const stopping = new AbortController()
    made.begin?.()
    made.shareAmong?.(this.#sharing)
    const ended = Promise.all(made.services.map((service) => supervise(service, clock, log, stopping.signal)))
    ended.catch(onFailure)
    this.#running.set(group.name, { group, made, stopping, ended })
  }

  async #end(name: string): Promise<void> {
    const running = this.#running.get(name)
    if (running === undefined) return
    const { clock, log, graceMs } = this.#o
    const over = new AbortController()
    running.stopping.abort()
    const ended = running.ended.then(
      () => 'ended' as const,
      () => 'ended' as const,
    )
    const first = await Promise.race([ended, clock.sleep(graceMs(), over.signal).then(() => 'over' as const)])
    over.abort()
    if (first === 'over') log.warn({ group: name }, `${name} did not finish what it had in hand within SHUTDOWN_GRACE; it is broken off`)
    // What is broken off may still come back and look for what it used; nothing of that is shared with what takes its place.
    await running.made.close?.().catch((error: unknown) => log.warn({ group: name, err: error }, messageOf(error)))
    this.#running.delete(name)
  }
}

/** A group of one service that goes by no settings that can change while it runs. */
export function lasting(name: string, create: () => Service): Group {
  return { name, settings: [], make: async () => ({ services: [create()] }) }
}

async function closeAll(made: Iterable<Made>): Promise<void> {
  await Promise.allSettled([...made].map((each) => each.close?.()))
}
