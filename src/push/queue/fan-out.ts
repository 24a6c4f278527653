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

/** Most rows that one transaction inserts into the outbox, for all destinations together: on SQLite it stays under 20 ms. */
const MAX_ROWS = { sqlite: 400, postgres: 2_000 } as const
const MAX_CHANGES = { sqlite: 200, postgres: 500 } as const
/** Longest time between two reads of the change log without a signal. */
export const SWEEP_MS = 1_000

export interface FanOutOptions {
  readonly db: Db
  readonly log: Log
  readonly destinations: readonly (FanOutDestination & DestinationStart)[]
  /** Whether changes older than `max_age` may be dropped, which is final: not while the clocks disagree. */
  readonly isClockTrusted: () => Promise<boolean>
}

/** `held`: destinations that would drop a change because of its age. */
interface Step {
  readonly more: boolean
  readonly held: readonly string[]
}

/**
 * change log -> outbox, for destinations without a `filter`. Each destination has its own cursor on `seq`, moved in the transaction that
 * inserts its outbox rows (invariant 3), in every state of the destination. Destinations with the same cursor share a step. Several
 * processes may run this: transactions run one at a time, and each reads the cursors again.
 */
export class FanOut implements Service {
  readonly name = 'fan-out'
  readonly #o: FanOutOptions
  /** Destinations whose wait was logged. */
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

  /** Creates the missing cursors of destinations. */
  prepare(): Promise<void> {
    return ensureDestinations(this.#o.db, this.#o.destinations)
  }

  /** Advances every destination by one step. @returns whether there may be more now. */
  async step(): Promise<boolean> {
    const { db } = this.#o
    const configured = new Map(this.#o.destinations.map((destination) => [destination.name, destination]))
    const states = (await listDestinations(db.read)).filter((state) => configured.has(state.destination))
    const { last_seq } = await logEnds(db.read)
    // The row of a destination was deleted.
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
      if (step === 'ended') this.#o.log.info({ destination }, `the snapshot for destination ${destination} is complete in its outbox`)
      if (step !== 'idle') more = true
    }
    for (const destination of this.#o.destinations) if (await stepRestatement(db, destination)) more = true
    return more
  }

  /** While the clock is in doubt, changes that are too old wait, with everything behind them. @returns whether there may be more. */
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
      // Their rows were just deleted; the next step creates them again.
      if (states.length === 0) return { more: true, held: [] }
      // If another process has moved some cursors, those destinations wait for their next step.
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
    // Losing this commit is harmless: the change log is durable and is read again.
    return db.write('push-fan-out', step, { relaxedDurability: true })
  }
}

/** Groups destinations that are behind by their cursor, the furthest first. */
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
