import { setImmediate as turn } from 'node:timers/promises'
import { compareFacts, type Differences } from '../../apply/compare.ts'
import { isUnchanged } from '../../apply/unchanged.ts'
import type { Clock } from '../../base/clock.ts'
import type { EventFact, Fact, MessageFact, Place, StateFact } from '../../model/facts.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { MirrorReader } from '../../store/mirror/reader.ts'

/** Submissions that are read from the mirror together: on Postgres each statement is a round trip, on SQLite each holds up the process. */
const BATCH = { sqlite: 4, postgres: 32 } as const
/** A submission with more rows than this in one table is compared piece by piece. */
const WHOLE_ROWS = 1_000

/** What the service says of a submission. */
export interface Said {
  readonly submissionId: string
  readonly states: readonly StateFact[]
  /** Of the feeds that came on one page each. */
  readonly records: readonly (EventFact | MessageFact)[]
  /** Those are all the records that there are. */
  readonly isWhole: boolean
  /** No read was answered with "not found". */
  readonly isThere: boolean
}

/** How that differs from the mirror. */
export interface Verdict {
  readonly state: Differences
  readonly records: Differences
  /** What is kept of the records beside them. */
  readonly derived: Differences
  /** The submission as it was read for this. */
  readonly reader: MirrorReader
}

const NONE: Differences = { changed: [], rawOnly: [] }

/** What follows from a submission's records, and from its being there. */
export function derivedFacts(place: Place, now: TimeText, isThere: boolean): Fact[] {
  const about = { account: place.account, submissionId: place.submissionId, cause: 'reconcile' } as const
  const derived: Fact = { kind: 'derived', ...about, now }
  return isThere ? [derived, { kind: 'reach', ...about, unreachableSince: null }] : [derived]
}

interface Waiting {
  readonly said: Said
  readonly resolve: (verdict: Verdict) => void
  readonly reject: (error: unknown) => void
}

/** Compares submissions with the mirror, those that are ready at the same time together. It only reads. */
export class Comparer {
  readonly #db: Db
  readonly #clock: Clock
  readonly #account: string
  readonly #waiting: Waiting[] = []
  #busy = false

  constructor(db: Db, clock: Clock, account: string) {
    this.#db = db
    this.#clock = clock
    this.#account = account
  }

  /** @throws what the store throws. */
  compare(said: Said): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ said, resolve, reject })
      if (!this.#busy) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#busy = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH[this.#db.kind])
      const reader = new MirrorReader(this.#db.read, this.#account)
      try {
        await reader.preload(
          batch.map(({ said }) => said.submissionId),
          WHOLE_ROWS,
        )
        // One that cannot be compared keeps no other from it.
        for (const { said, resolve, reject } of batch) await this.#verdict(reader, said).then(resolve, reject)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      // Deliveries and answers come between.
      await turn()
    }
    this.#busy = false
  }

  async #verdict(reader: MirrorReader, said: Said): Promise<Verdict> {
    const { submissionId, isWhole, isThere } = said
    if (isUnchanged(reader, submissionId, said.states, isWhole ? said.records : null))
      return { state: NONE, records: NONE, derived: NONE, reader }
    const now = timeFromMs(this.#clock.now())
    const state = said.states.length === 0 ? NONE : await compareFacts(reader, said.states, now)
    const records = said.records.length === 0 ? NONE : await compareFacts(reader, said.records, now)
    const derived = await compareFacts(reader, derivedFacts({ account: this.#account, submissionId }, now, isThere), now)
    return { state, records, derived, reader }
  }
}
