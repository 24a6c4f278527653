import type { DeliveryOutcome } from './activity-log.ts'
import type { Payload } from './payloads.ts'

/** A delivery and how it went. Plain data. Copies under the same id share one. */
export interface DeliveryRecord extends Payload {
  readonly id: string
  readonly account: string
  readonly submissionId: string
  readonly createdAtMs: number
  outcome: DeliveryOutcome | 'pending'
  attempts: number
  /** What the last attempt was answered; null: nothing in time, or no attempt yet. */
  lastStatus: number | null
  endedAtMs: number | null
}

/** Ended deliveries kept, at least. */
const MAX_ENDED = 1_000

/** The latest deliveries, for those who want to see, lose or repeat one. */
export class DeliveryHistory {
  #records = new Map<string, DeliveryRecord>()
  #ended = 0

  /** @returns the record of that id, which is made when there is none. */
  begin(of: Payload & { readonly id: string; readonly submissionId: string }, account: string, nowMs: number): DeliveryRecord {
    const known = this.#records.get(of.id)
    if (known) {
      if (known.outcome !== 'pending') this.#ended--
      return Object.assign(known, { outcome: 'pending', endedAtMs: null })
    }
    const { id, submissionId, type, body, itemIds } = of
    const made: DeliveryRecord = {
      id,
      account,
      submissionId,
      type,
      body,
      itemIds,
      createdAtMs: nowMs,
      outcome: 'pending',
      attempts: 0,
      lastStatus: null,
      endedAtMs: null,
    }
    this.#records.set(id, made)
    return made
  }

  end(record: DeliveryRecord, outcome: DeliveryOutcome, nowMs: number): void {
    if (record.outcome === 'pending') this.#ended++
    Object.assign(record, { outcome, endedAtMs: nowMs })
    if (this.#ended > MAX_ENDED * 2) this.#forget()
  }

  /** @throws RangeError for an unknown id. */
  get(id: string): DeliveryRecord {
    const record = this.#records.get(id)
    if (!record) throw new RangeError(`there is no delivery ${id}, or it is too long ago`)
    return record
  }

  /** @returns all, oldest first. */
  list(): DeliveryRecord[] {
    return [...this.#records.values()]
  }

  restore(records: readonly DeliveryRecord[]): void {
    this.#records = new Map(records.map((record) => [record.id, { ...record }]))
    this.#ended = records.filter(({ outcome }) => outcome !== 'pending').length
  }

  #forget(): void {
    for (const [id, { outcome }] of this.#records) {
      if (this.#ended <= MAX_ENDED) return
      if (outcome === 'pending') continue
      this.#records.delete(id)
      this.#ended--
    }
  }
}
