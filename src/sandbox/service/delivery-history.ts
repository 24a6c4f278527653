import { timeFromMs } from '../../model/time.ts'
import type { DeliveryOutcome } from './activity-log.ts'
import type { Payload } from './payloads.ts'

/** A delivery and its outcome as plain data. Duplicates with the same id share one record. */
export interface DeliveryRecord extends Payload {
  readonly id: string
  readonly account: string
  readonly submissionId: string
  readonly createdAtMs: number
  outcome: DeliveryOutcome | 'pending'
  attempts: number
  /** Status of the last attempt; null if there was no attempt, or no answer in time. */
  lastStatus: number | null
  endedAtMs: number | null
}

const MAX_ENDED = 1_000

/** Keeps pending deliveries and the latest ended ones. */
export class DeliveryHistory {
  #records = new Map<string, DeliveryRecord>()
  #ended = 0

  /** @returns the delivery's record, now pending. Creates the record if the id is new. */
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

  get(id: string): DeliveryRecord {
    const record = this.#records.get(id)
    if (!record) throw new RangeError(`there is no delivery ${id}, or it is too long ago`)
    return record
  }

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

/** @returns the fields of a delivery except its body. */
export function deliveryView({
  id,
  account,
  submissionId,
  type,
  itemIds,
  outcome,
  attempts,
  lastStatus,
  createdAtMs,
  endedAtMs,
}: DeliveryRecord) {
  return {
    id,
    account,
    submission_id: submissionId,
    type,
    item_ids: itemIds,
    outcome,
    attempts,
    last_status: lastStatus,
    created_at: timeFromMs(createdAtMs),
    ended_at: endedAtMs === null ? null : timeFromMs(endedAtMs),
  }
}
