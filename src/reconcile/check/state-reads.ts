import type { StateObservation, SubmissionRef } from '../../model/observations.ts'
import { isDetail, isIdRead, type OwnStateRead, type ReadKind, stateReads } from '../../model/reads.ts'
import { timeFromMs } from '../../model/time.ts'
import { readState } from '../../read/state.ts'
import { takeReadNumber } from '../../store/reads/reads.ts'
import { readsOffNow } from '../../store/reads/reads-off.ts'
import { type Attempt, attempt, type Failure } from './attempts.ts'
import { type IdStateContext, idsNamedBy, idsToCheck, readIdState, takeNumberOf } from './id-states.ts'

const MAX_IDS = 500

export interface FailedRead {
  readonly read: ReadKind
  readonly failure: Failure
}

/** Reads the state of one submission, including objects that have their own id. */
export class StateReads {
  readonly #o: IdStateContext
  readonly #place: SubmissionRef
  readonly #signal: AbortSignal
  readonly #states = new Map<string, StateObservation>()

  constructor(parts: IdStateContext, place: SubmissionRef, signal: AbortSignal) {
    this.#o = parts
    this.#place = place
    this.#signal = signal
  }

  /** The newest answer of each read. */
  get all(): StateObservation[] {
    return [...this.#states.values()]
  }

  /** Number of rows in the answers. */
  get rows(): number {
    return this.all.reduce((sum, { view }) => view.lists.reduce((rows, list) => rows + list.rows.length, sum + 1), 0)
  }

  /** Runs all state reads, even if some fail. @returns the failed reads. */
  async readAll(): Promise<FailedRead[]> {
    const failures: FailedRead[] = []
    const note = (read: StateObservation['read'], state: Attempt<StateObservation>) => {
      if (state.ok) this.#keep(state.value)
      else if (!isDeclined(read, state.failure)) failures.push({ read, failure: state.failure })
    }
    const off: ReadonlySet<ReadKind> = await readsOffNow(this.#o.db.read, this.#place.account)
    for (const read of stateReads) if (!off.has(read)) note(read, await this.#read(read, 0))
    // If the requirements can't be read, the submission may be gone. A 404 of a read by id would then mean nothing, so
    // reads by id are skipped.
    if (!this.#states.has('requirements')) return failures
    const queue = await idsToCheck(this.#o, this.#place)
    const asked = new Set<string>()
    const add = (state: StateObservation) => queue.push(...idsNamedBy(state))
    for (const state of this.all) add(state)
    // An answer may contain further ids: a bind request names its policy, and a policy names its insured.
    for (let one = queue.shift(); one !== undefined && asked.size < MAX_IDS; one = queue.shift()) {
      const key = `${one.read} ${one.id}`
      if (asked.has(key) || off.has(one.read)) continue
      asked.add(key)
      const state = await readIdState(this.#o, this.#place, one, 0, this.#signal)
      note(one.read, state)
      if (state.ok) add(state.value)
    }
    return failures
  }

  /** Reads a state again, with a new read number. */
  async readAgain({ read, ownId = '' }: StateObservation): Promise<Attempt<StateObservation>> {
    const again = isIdRead(read)
      ? await this.#readId({ read, id: ownId, submissionId: this.#place.submissionId })
      : await this.#read(read, await this.#numberOf(read))
    if (again.ok) this.#keep(again.value)
    return again
  }

  #keep(state: StateObservation): void {
    this.#states.set(`${state.read} ${state.ownId ?? ''}`.trim(), state)
  }

  async #numberOf(read: OwnStateRead): Promise<number> {
    const { db, dryRun } = this.#o
    return dryRun ? 0 : ((await takeReadNumber(db, { ...this.#place, read })) ?? 0)
  }

  #read(read: OwnStateRead, readNo: number): Promise<Attempt<StateObservation>> {
    const { client, clock } = this.#o
    return attempt(clock, client, this.#signal, async () => {
      const view = await readState(client, read, this.#place.submissionId, this.#signal, 'background')
      return { kind: 'state', read, ...this.#place, cause: 'reconcile', view, readNo, readAt: timeFromMs(clock.now()) }
    })
  }

  async #readId(asked: Parameters<typeof readIdState>[2]): Promise<Attempt<StateObservation>> {
    return await readIdState(this.#o, this.#place, asked, await takeNumberOf(this.#o, this.#place.account, asked), this.#signal)
  }
}

/** True if the service doesn't offer this read. A 401 doesn't count, because it concerns the token. */
function isDeclined(read: ReadKind, failure: Failure): boolean {
  return (isDetail(read) && failure.class === 'gone') || (read !== 'requirements' && failure.isForbidden === true)
}
