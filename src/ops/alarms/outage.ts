import { randomUUID } from 'node:crypto'
import { messageOf as errorText } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { OperatorConfig } from '../../config/config.ts'
import { timeFromMs } from '../../model/time.ts'
import type { AlarmRow, NewNotice } from '../../store/operators/alarms.ts'
import type { NoticeKind } from '../../store/schema/tables-alarms.ts'
import { printableLine } from '../output/text.ts'
import { messageOf } from './message.ts'
import { backoffAfter } from './notifier.ts'
import { rules } from './rules.ts'
import type { Senders } from './senders.ts'

const RULE = rules.store_unavailable
const KEY = { name: 'store_unavailable', account: '', destination: '' } as const

/** An outage of the store that is over, for the store to know of. */
export interface PastOutage {
  readonly row: AlarmRow
  /** What operators were told of it already. */
  readonly sent: readonly NewNotice[]
}

/** What an operator is told: the same until it is taken or given up. */
interface Telling {
  readonly notice: NewNotice
  /** Tries that have ended. */
  readonly attempts: number
  /** Whether it was taken or given up. */
  readonly over: boolean
  /** What was taken last. */
  readonly taken: NewNotice | null
  /** When the next try is due, or the next telling when this one has come to an end. */
  readonly dueMs: number
}

/**
 * While the store cannot be written, nothing that is kept there can tell of it: each process that sees it tells operators itself, once
 * and again at their repeat interval, with the pauses between tries that every notice has. When the store is back, the alarm goes into it
 * as one that fires, and ends there like any other.
 */
export class Outage {
  readonly #senders: Senders
  readonly #log: Log
  #sinceMs: number | null = null
  #lastMs = 0
  #text = ''
  /** By operator, what it is told or was told last. */
  readonly #tellings = new Map<string, Telling>()

  constructor(senders: Senders, log: Log) {
    this.#senders = senders
    this.#log = log
  }

  /** Notes that the store failed, and tells whoever is to be told. It never throws. */
  async note(error: unknown, nowMs: number, signal: AbortSignal): Promise<void> {
    this.#sinceMs ??= nowMs
    this.#lastMs = nowMs
    this.#text =
      `the database cannot be written (${printableLine(errorText(error), 300)}), so deliveries are answered 503; make room, or see whether the ` +
      'database runs and whether something else holds a lock on it'
    if (nowMs - this.#sinceMs < RULE.forMs) return
    const sinceMs = this.#sinceMs
    await Promise.all(
      this.#senders.operators.map(async (operator) => {
        const last = this.#tellings.get(operator.name) ?? null
        if (last === null || last.dueMs <= nowMs) this.#tellings.set(operator.name, await this.#tell(operator, last, sinceMs, signal))
      }),
    )
  }

  async #tell(operator: OperatorConfig, last: Telling | null, sinceMs: number, signal: AbortSignal): Promise<Telling> {
    const nowMs = this.#lastMs
    const kind = last === null ? 'firing' : 'repeated'
    const begun = last !== null && !last.over ? last : { notice: this.#notice(operator, kind, sinceMs), attempts: 0 }
    const { notice } = begun
    const result = await this.#senders.send(operator, notice.notice_id, notice.body, signal)
    const attempts = begun.attempts + 1
    if (result.ok) return { notice, attempts, over: true, taken: notice, dueMs: nowMs + operator.repeatMs }
    this.#log.error({ operator: operator.name }, `operator ${operator.name} could not be told that the store is away: ${result.error}`)
    const waitMs = backoffAfter(attempts, result)
    return { notice, attempts, over: waitMs === null, taken: last?.taken ?? null, dueMs: nowMs + (waitMs ?? operator.repeatMs) }
  }

  #notice({ name }: OperatorConfig, kind: NoticeKind, sinceMs: number): NewNotice {
    const now = timeFromMs(this.#lastMs)
    const body = JSON.stringify(messageOf(this.#row(sinceMs), kind, now))
    return { operator: name, ...KEY, notice_id: randomUUID(), kind, body, queued_at: now, sent: true }
  }

  /** @returns the outage that has just ended, when it was long enough to be one; `forget` ends it. */
  past(): PastOutage | null {
    if (this.#sinceMs === null || this.#lastMs - this.#sinceMs < RULE.forMs) return null
    return { row: this.#row(this.#sinceMs), sent: [...this.#tellings.values()].flatMap(({ taken }) => taken ?? []) }
  }

  forget(): void {
    this.#sinceMs = null
    this.#tellings.clear()
  }

  #row(sinceMs: number): AlarmRow {
    const at = { since: timeFromMs(sinceMs), last_at: timeFromMs(this.#lastMs), resolved_at: null, notified_at: null }
    return { ...KEY, state: 'firing', severity: RULE.severity, ...at, text: this.#text }
  }
}
