import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import { readEpochs } from '../../store/changes/log-epoch.ts'
import { logEnds } from '../../store/changes/log-info.ts'
import type { Db, Tx } from '../../store/engine/db.ts'
import {
  type DestinationRow,
  type DestinationStart,
  endFilter,
  ensureDestinations,
  listDestinations,
} from '../../store/outbox/destinations.ts'
import { changesToFanOut, lockFanOut, queueRows } from '../../store/outbox/fan-out.ts'
import { type FanOutDestination, rowsFor } from './queued-rows.ts'
import { requestRestated, stepRestatement } from './restate.ts'
import { stepSnapshot } from './snapshot.ts'

/**
 * Maximum rows that one transaction inserts, for all destinations together. This limit keeps SQLite
 * transactions under 20 ms.
 */
const MAX_ROWS = { sqlite: 400, postgres: 2_000 } as const
const MAX_CHANGES = { sqlite: 200, postgres: 500 } as const
/** How often the change log is read if no signal arrives, in ms. */
export const SWEEP_MS = 1_000

export interface FanOutOptions {
  readonly db: Db
  readonly log: Log
  readonly destinations: readonly (FanOutDestination & DestinationStart)[]
  /**
   * Whether this machine's clock is right. If the clock may be wrong, changes older than `max_age` wait, because
   * dropping a change is final.
   */
  readonly isClockTrusted: () => Promise<boolean>
}

/** `held` names the destinations whose changes wait because of `max_age`. */
interface Step {
  readonly more: boolean
  readonly held: readonly string[]
}

/**
 * Copies changes from the change log to the outbox, for destinations without a `filter`. Each destination has a cursor
 * on `seq`. The cursor moves in the transaction that inserts the outbox rows, even while the destination is suspended
 * or paused. Destinations with the same cursor share a transaction.
 * Several processes may run this service. Their transactions run one at a time, and each transaction reads
 * the cursors again.
 */
export class FanOut implements Service {
  readonly name = 'fan-out'
  readonly #o: FanOutOptions
  /** Destinations for which this process has already logged a warning about waiting changes. */
  readonly #reported = new Set<string>()

  constructor(options: FanOutOptions) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.prepare()
    while (!signal.aborted) {
      if (!(await this.step())) await this.#o.db.signals.wait('changes', SWEEP_MS, signal)
    }
  }

  /** Creates the stored state of new destinations, including the cursor. */
  prepare(): Promise<void> {
    return ensureDestinations(this.#o.db, this.#o.destinations)
  }

  /**
   * Advances every destination by one step.
   * @returns whether more changes may be waiting.
   */
  async step(): Promise<boolean> {
    const { db } = this.#o
    const configured = new Map(this.#o.destinations.map((destination) => [destination.name, destination]))
    const states = (await listDestinations(db.read)).filter((state) => configured.has(state.destination))
    const { last_seq } = await logEnds(db.read)
    // If the stored state of a destination was deleted, `prepare` creates it again.
    if (states.length < configured.size) await this.prepare()
    for (const { destination, filtered_from } of states) if (filtered_from !== null) await endFilter(db, destination)
    let more = states.length < configured.size
    for (const names of groupsOf(states, last_seq)) {
      const group = names.flatMap((name) => configured.get(name) ?? [])
      if (await this.#fanOutGroup(group)) more = true
    }
    for (const { destination, snapshot } of states) {
      const one = configured.get(destination)
      if (snapshot === null || !one || (one.maxAgeMs !== null && !(await this.#o.isClockTrusted()))) continue
      const step = await stepSnapshot(db, one, MAX_CHANGES[db.kind])
      if (step === 'ended') this.#o.log.info({ destination }, `all rows of the snapshot for destination ${destination} are queued`)
      if (step !== 'idle') more = true
    }
    for (const destination of this.#o.destinations) if (await stepRestatement(db, destination)) more = true
    return more
  }

  /**
   * Fans out the next changes of destinations with the same cursor. While this machine's clock isn't trusted, changes
   * older than `max_age` wait, and all later changes wait too.
   * @returns whether more changes may be waiting.
   */
  async #fanOutGroup(group: readonly FanOutDestination[]): Promise<boolean> {
    const first = await this.#fanOut(group, false)
    const old = group.filter(({ name }) => first.held.includes(name))
    if (old.length > 0 && (await this.#o.isClockTrusted())) {
      this.#reported.clear()
      return (await this.#fanOut(old, true)).more || first.more
    }
    for (const { name } of old.filter((each) => !this.#reported.has(each.name))) {
      this.#reported.add(name)
      this.#o.log.warn({ destination: name }, waitsForClocks(name))
    }
    return first.more
  }

  async #fanOut(group: readonly FanOutDestination[], mayDrop: boolean): Promise<Step> {
    const { db } = this.#o
    const limit = Math.min(MAX_CHANGES[db.kind], Math.max(10, Math.floor(MAX_ROWS[db.kind] / group.length)))
    const step = async (tx: Tx): Promise<Step> => {
      await lockFanOut(tx)
      const states = (await listDestinations(tx)).filter(({ destination }) => group.some(({ name }) => name === destination))
      // The stored states of all these destinations were deleted. The next step creates them again.
      if (states.length === 0) return { more: true, held: [] }
      // Continues at the lowest cursor. If another process has moved a destination's cursor further, that destination
      // continues in the next step.
      const cursor = Math.min(...states.map((state) => state.cursor))
      const atCursor = new Map(states.filter((state) => state.cursor === cursor).map((state) => [state.destination, state.log_epoch]))
      const changes = await changesToFanOut(tx, cursor, limit)
      const last = changes.at(-1)
      if (!last) return { more: false, held: [] }
      const recipients = group.flatMap((destination) => {
        const logEpoch = atCursor.get(destination.name)
        return logEpoch === undefined ? [] : { ...destination, logEpoch }
      })
      const epochOf = await readEpochs(tx)
      const { rows, held } = await rowsFor(tx, recipients, changes, epochOf, mayDrop)
      await requestRestated(tx, recipients, changes, epochOf)
      const moves = recipients.map(({ name }) => ({ destination: name, cursor: (held.get(name) ?? last.seq + 1) - 1 }))
      await queueRows(tx, rows, moves)
      const isMore = changes.length === limit || atCursor.size < group.length
      return { more: isMore && held.size < recipients.length, held: [...held.keys()] }
    }
    // A crash may lose this commit. This is harmless, because the change log is durable and is read again.
    return db.write('push-fan-out', step, { relaxedDurability: true })
  }
}

/** Groups destinations with waiting changes by cursor, the most advanced first. */
function groupsOf(states: readonly DestinationRow[], lastSeq: number): string[][] {
  const groups = new Map<number, string[]>()
  for (const { destination, cursor, snapshot } of states) {
    if (snapshot !== null || cursor >= lastSeq) continue
    groups.set(cursor, [...(groups.get(cursor) ?? []), destination])
  }
  return [...groups].sort(([a], [b]) => b - a).map(([, names]) => names)
}

export function waitsForClocks(name: string): string {
  return `changes for destination ${name} wait: by the clock of this machine they are older than its max_age, but the clocks disagree; \`submission-mirror doctor\` compares them`
}
