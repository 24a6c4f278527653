import { randomUUID } from 'node:crypto'
import { messageOf as errorText } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { OperatorConfig } from '../../config/config.ts'
import { timeFromMs } from '../../model/time.ts'
import type { AlarmRow, NewNotice } from '../../store/operators/alarms.ts'
import type { NoticeKind } from '../../store/schema/operators.ts'
import { alarms } from '../health/problems.ts'
import { printableLine } from '../output/text.ts'
import { messageOf } from './message.ts'
import { backoffAfter } from './notifier.ts'
import type { Senders } from './senders.ts'

const RULE = alarms.store_unavailable
const KEY = { name: 'store_unavailable', account: '', destination: '' } as const

/** A past database outage that must still be stored as an alarm. */
export interface PastOutage {
  readonly row: AlarmRow
  readonly sent: readonly NewNotice[]
}

/** Progress of notifying one recipient of the outage. Retries send the same notice until it is sent or skipped. */
interface Progress {
  readonly notice: NewNotice
  readonly attempts: number
  /** True if the notice was sent or skipped. */
  readonly isSettled: boolean
  readonly sent: NewNotice | null
  /** When the next attempt is due. If the notice was sent or skipped: when the next notice is due. */
  readonly dueMs: number
}

/**
 * Notifies alert recipients of a database outage. Notices can't be stored during an outage.
 * Each process that sees the outage therefore sends its own notices directly, one in each repeat interval.
 * Failed notices are retried with the usual backoff.
 * After the outage, the alarm is stored as firing. It then resolves like any other alarm.
 */
export class Outage {
  readonly #senders: Senders
  readonly #log: Log
  #sinceMs: number | null = null
  #lastMs = 0
  #text = ''
  readonly #progress = new Map<string, Progress>()

  constructor(senders: Senders, log: Log) {
    this.#senders = senders
    this.#log = log
  }

  /** Records a database failure. Sends due notices if the outage has lasted for the alarm's `forMs`. Never throws. */
  async note(error: unknown, nowMs: number, signal: AbortSignal): Promise<void> {
    this.#sinceMs ??= nowMs
    this.#lastMs = nowMs
    this.#text =
      `the database cannot be written (${printableLine(errorText(error), 300)}), so deliveries are answered 503; free disk space, or check that the ` +
      'database runs and that no other program holds a lock on it'
    if (nowMs - this.#sinceMs < RULE.forMs) return
    const sinceMs = this.#sinceMs
    await Promise.all(
      this.#senders.operators.map(async (operator) => {
        const last = this.#progress.get(operator.name) ?? null
        if (last === null || last.dueMs <= nowMs) this.#progress.set(operator.name, await this.#send(operator, last, sinceMs, signal))
      }),
    )
  }

  async #send(operator: OperatorConfig, last: Progress | null, sinceMs: number, signal: AbortSignal): Promise<Progress> {
    const nowMs = this.#lastMs
    const kind = last === null ? 'firing' : 'repeated'
    const begun = last !== null && !last.isSettled ? last : { notice: this.#notice(operator, kind, sinceMs), attempts: 0 }
    const { notice } = begun
    const result = await this.#senders.send(operator, notice.notice_id, notice.body, signal)
    const attempts = begun.attempts + 1
    if (result.ok) return { notice, attempts, isSettled: true, sent: notice, dueMs: nowMs + operator.repeatMs }
    this.#log.error(
      { operator: operator.name },
      `alert recipient ${operator.name} could not be notified of the database outage: ${result.error}`,
    )
    const waitMs = backoffAfter(attempts, result)
    return { notice, attempts, isSettled: waitMs === null, sent: last?.sent ?? null, dueMs: nowMs + (waitMs ?? operator.repeatMs) }
  }

  #notice({ name }: OperatorConfig, kind: NoticeKind, sinceMs: number): NewNotice {
    const now = timeFromMs(this.#lastMs)
    const body = JSON.stringify(messageOf(this.#row(sinceMs), kind, now))
    return { operator: name, ...KEY, notice_id: randomUUID(), kind, body, queued_at: now, sent: true }
  }

  /** @returns the past outage if the alarm fired during it, else null. Call `forget` after storing the outage. */
  past(): PastOutage | null {
    if (this.#sinceMs === null || this.#lastMs - this.#sinceMs < RULE.forMs) return null
    return { row: this.#row(this.#sinceMs), sent: [...this.#progress.values()].flatMap(({ sent }) => sent ?? []) }
  }

  forget(): void {
    this.#sinceMs = null
    this.#progress.clear()
  }

  #row(sinceMs: number): AlarmRow {
    const at = { since: timeFromMs(sinceMs), last_at: timeFromMs(this.#lastMs), resolved_at: null, notified_at: null }
    return { ...KEY, state: 'firing', severity: RULE.severity, ...at, text: this.#text }
  }
}
