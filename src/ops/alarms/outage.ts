import { randomUUID } from 'node:crypto'
import { messageOf as errorText } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { timeFromMs } from '../../model/time.ts'
import type { AlarmRow, NewNotice } from '../../store/alarms.ts'
import { printableLine } from '../text.ts'
import { messageOf } from './message.ts'
import { rules } from './rules.ts'
import type { Senders } from './senders.ts'

const RULE = rules.store_unavailable
const KEY = { name: 'store_unavailable', account: '', destination: '' } as const

/** An outage of the store that is over, for the store to know of. */
export interface PastOutage {
  readonly row: AlarmRow
  /** What operators were told of it already. */
  readonly told: readonly NewNotice[]
}

/**
 * While the store cannot be written, nothing that is kept there can tell of it: each process that sees it tells operators itself, once
 * and again at their repeat interval. When the store is back, the alarm goes into it as one that fires, and ends there like any other.
 */
export class Outage {
  readonly #senders: Senders
  readonly #log: Log
  #sinceMs: number | null = null
  #lastMs = 0
  #text = ''
  /** By operator, what it took last. */
  readonly #told = new Map<string, { readonly atMs: number; readonly notice: NewNotice }>()

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
    for (const operator of this.#senders.operators) {
      const told = this.#told.get(operator.name)
      if (told !== undefined && nowMs - told.atMs < operator.repeatMs) continue
      const kind = told === undefined ? 'firing' : 'repeated'
      const now = timeFromMs(nowMs)
      const body = JSON.stringify(messageOf(this.#row(this.#sinceMs), kind, now))
      const notice: NewNotice = { operator: operator.name, ...KEY, notice_id: randomUUID(), kind, body, queued_at: now, sent: true }
      const result = await this.#senders.send(operator, notice.notice_id, body, signal)
      if (result.ok) this.#told.set(operator.name, { atMs: nowMs, notice })
      else
        this.#log.error({ operator: operator.name }, `operator ${operator.name} could not be told that the store is away: ${result.error}`)
    }
  }

  /** @returns the outage that has just ended, when it was long enough to be one; `forget` ends it. */
  past(): PastOutage | null {
    if (this.#sinceMs === null || this.#lastMs - this.#sinceMs < RULE.forMs) return null
    return { row: this.#row(this.#sinceMs), told: [...this.#told.values()].map(({ notice }) => notice) }
  }

  forget(): void {
    this.#sinceMs = null
    this.#told.clear()
  }

  #row(sinceMs: number): AlarmRow {
    const at = { since: timeFromMs(sinceMs), last_at: timeFromMs(this.#lastMs), resolved_at: null, notified_at: null }
    return { ...KEY, state: 'firing', severity: RULE.severity, ...at, text: this.#text }
  }
}
