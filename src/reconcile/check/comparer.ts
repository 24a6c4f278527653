import { setImmediate as turn } from 'node:timers/promises'
import { compareObservations, type Differences } from '../../apply/compare.ts'
import { insuredsIn } from '../../apply/known-ids.ts'
import { protectObservations } from '../../apply/protect-observations.ts'
import { isUnchanged } from '../../apply/unchanged.ts'
import type { Clock } from '../../base/clock.ts'
import type { EventObservation, MessageObservation, Observation, StateObservation, SubmissionRef } from '../../model/observations.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { MirrorReader } from '../../store/mirror/reader.ts'

/**
 * Number of submissions that one read of the mirror loads. On Postgres, a large batch saves round trips. On SQLite, a
 * read blocks the process, so the batch is small.
 */
const BATCH = { sqlite: 4, postgres: 32 } as const
const MAX_PRELOADED_ROWS = 1_000

/** Answers of the service for one submission. */
export interface ServiceAnswer {
  readonly submissionId: string
  readonly states: readonly StateObservation[]
  /** Records of the feeds with only one page. Longer feeds are compared page by page while they are read. */
  readonly records: readonly (EventObservation | MessageObservation)[]
  /** True if `records` contains all records of both feeds. */
  readonly isWhole: boolean
  /** False if the service answered 404 for the requirements or a feed. */
  readonly isThere: boolean
}

/** Differences between the mirror and the service's answers for one submission. */
export interface Comparison {
  readonly state: Differences
  readonly records: Differences
  /** Differences in columns that are computed from the records. */
  readonly derived: Differences
  readonly reader: MirrorReader
}

const NONE: Differences = { changed: [], rawOnly: [] }

/**
 * @returns an observation that recomputes the derived columns (columns computed from records). If `isThere`, also
 * returns an observation that marks the submission as reachable.
 */
export function derivedObservations(
  place: SubmissionRef,
  now: TimeText,
  isThere: boolean,
  insuredIds: readonly string[] = [],
): Observation[] {
  const about = { account: place.account, submissionId: place.submissionId, cause: 'reconcile' } as const
  const derived: Observation = { kind: 'derived', ...about, now, insuredIds }
  return isThere ? [derived, { kind: 'reach', ...about, unreachableSince: null }] : [derived]
}

interface Queued {
  readonly answer: ServiceAnswer
  readonly resolve: (comparison: Comparison) => void
  readonly reject: (error: unknown) => void
}

/** Compares submissions with the mirror in batches. Doesn't write to the mirror. */
export class Comparer {
  readonly #db: Db
  readonly #clock: Clock
  readonly #account: string
  readonly #waiting: Queued[] = []
  #busy = false

  constructor(db: Db, clock: Clock, account: string) {
    this.#db = db
    this.#clock = clock
    this.#account = account
  }

  /** Compares an answer in one of the next batches. @throws database errors. */
  compare(answer: ServiceAnswer): Promise<Comparison> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ answer, resolve, reject })
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
          batch.map(({ answer }) => answer.submissionId),
          MAX_PRELOADED_ROWS,
        )
        for (const { answer, resolve, reject } of batch) await this.#compareOne(reader, answer).then(resolve, reject)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      // Lets deliveries and HTTP requests run between batches.
      await turn()
    }
    this.#busy = false
  }

  async #compareOne(reader: MirrorReader, { submissionId, isWhole, isThere, ...given }: ServiceAnswer): Promise<Comparison> {
    const states = protectObservations(reader.protection, given.states)
    const records = protectObservations(reader.protection, given.records)
    if (isUnchanged(reader, submissionId, states, isWhole ? records : null)) {
      return { state: NONE, records: NONE, derived: NONE, reader }
    }
    const now = timeFromMs(this.#clock.now())
    return {
      state: states.length === 0 ? NONE : await compareObservations(reader, states, now),
      records: records.length === 0 ? NONE : await compareObservations(reader, records, now),
      derived: await compareObservations(
        reader,
        derivedObservations({ account: this.#account, submissionId }, now, isThere, insuredsIn([...states, ...records])),
        now,
      ),
      reader,
    }
  }
}
