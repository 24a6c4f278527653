import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { Service } from '../../base/service.ts'
import type { Db } from '../../store/engine/db.ts'
import { type ClaimedNotice, claimNotices, type NoticeResult, settleNotice } from '../../store/operators/notices.ts'
import type { SendResult } from './sender.ts'
import type { Senders } from './senders.ts'

/** Interval of checking for due notices, in ms. */
const EVERY_MS = 5_000
/** Notices per claim. The process sends these notices one after another within `LEASE_MS`. */
const BATCH = 5
const LEASE_MS = 180_000
/**
 * Waits between attempts, in ms. If the attempt after the last wait also fails, the notice is skipped.
 * The next notice follows when the alarm repeats.
 */
export const BACKOFF_MS: readonly number[] = [10_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000]
const ERROR_LENGTH = 300

export interface NotifierParts {
  readonly db: Db
  readonly log: Log
  readonly observer: Observer
  readonly senders: Senders
}

/**
 * Sends the notices in `sync_alert_messages`. A notice is one message about one alarm to one recipient.
 * Several processes can send in parallel, because each process claims its notices.
 * If a process dies right after sending a notice, the notice is sent again with the same id.
 */
export class Notifier implements Service {
  readonly name: string
  readonly #p: NotifierParts

  constructor(parts: NotifierParts) {
    this.#p = parts
    this.name = `messages to alert recipients ${parts.senders.operators.map(({ name }) => name).join(', ')}`
    // Create the counters with 0. Otherwise, monitoring would miss the first increase.
    for (const { name } of parts.senders.operators) {
      for (const outcome of ['sent', 'failed', 'skipped']) parts.observer.count('alert_messages_total', { operator: name, outcome }, 0)
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const claimed = await this.sendDue(signal)
        if (claimed < BATCH) await this.#p.db.clock.sleep(EVERY_MS, signal)
      }
    } finally {
      await this.#p.senders.close()
    }
  }

  /** Sends a batch of due notices. @returns the number of claimed notices. */
  async sendDue(signal: AbortSignal): Promise<number> {
    const { db, senders } = this.#p
    const names = senders.operators.map(({ name }) => name)
    const claimed = await claimNotices(db, names, BATCH, LEASE_MS)
    for (const notice of claimed) await settleNotice(db, notice, await this.#send(notice, signal))
    return claimed.length
  }

  async #send(notice: ClaimedNotice, signal: AbortSignal): Promise<NoticeResult> {
    const { senders, log, observer } = this.#p
    const operator = senders.operators.find(({ name }) => name === notice.operator)
    if (operator === undefined || signal.aborted) return { type: 'untried' }
    const about = { operator: operator.name, alarm: notice.name, notice: notice.noticeId }
    const result = await senders.send(operator, notice.noticeId, notice.body, signal)
    if (!result.ok && signal.aborted) return { type: 'untried' }
    if (result.ok) {
      observer.count('alert_messages_total', { operator: operator.name, outcome: 'sent' })
      const sent = `notified alert recipient ${operator.name} of alarm ${notice.name}`
      if (result.remark === undefined) log.info(about, sent)
      else log.error(about, `${sent}, ${result.remark}`)
      return { type: 'sent' }
    }
    const attempts = notice.attempts + 1
    const waitMs = backoffAfter(attempts, result)
    observer.count('alert_messages_total', { operator: operator.name, outcome: waitMs === null ? 'skipped' : 'failed' })
    const next = waitMs === null ? 'skipped until the alarm repeats' : `next attempt in ${Math.round(waitMs / 1_000)} s`
    log.error(
      { ...about, attempts },
      `alert recipient ${operator.name} could not be notified of alarm ${notice.name}: ${result.error}; ${next}`,
    )
    return { type: 'failed', attempts, error: result.error.slice(0, ERROR_LENGTH), waitMs }
  }
}

/**
 * @param attempts number of attempts so far.
 * @param result result of the last attempt.
 * @returns ms until the next attempt; null if no attempt follows.
 */
export function backoffAfter(attempts: number, result: Extract<SendResult, { ok: false }>): number | null {
  const pauseMs = BACKOFF_MS[attempts - 1]
  return pauseMs === undefined ? null : Math.max(pauseMs, result.retryAfterMs ?? 0)
}
