import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { Service } from '../../base/service.ts'
import type { Db } from '../../store/engine/db.ts'
import { type ClaimedNotice, claimNotices, type NoticeResult, settleNotice } from '../../store/operators/notices.ts'
import type { SendResult } from './sender.ts'
import type { Senders } from './senders.ts'

/** Whoever is due is looked for so often. */
const EVERY_MS = 5_000
/** Notices taken at a time; sent one after another, each within its lease. */
const AT_ONCE = 5
const LEASE_MS = 180_000
/** Pauses between the tries of one notice; one more try than pauses. After the last it is given up until it is repeated. */
export const BACKOFF_MS: readonly number[] = [10_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000]
/** What has failed is kept in so many characters. */
const ERROR_LENGTH = 300

export interface NotifierParts {
  readonly db: Db
  readonly log: Log
  readonly observer: Observer
  readonly senders: Senders
}

/**
 * Tells operators what `sync_operator_notices` holds for them. A notice is claimed, sent, and settled, so several processes may do this
 * side by side; one that was sent by a process that died before it could say so is sent again, under the same id.
 */
export class Notifier implements Service {
  readonly name: string
  readonly #p: NotifierParts

  constructor(parts: NotifierParts) {
    this.#p = parts
    this.name = `telling ${parts.senders.operators.map(({ name }) => name).join(', ')}`
    // A counter that is there from the start shows its first rise.
    for (const { name } of parts.senders.operators) {
      for (const outcome of ['sent', 'failed', 'given_up']) parts.observer.count('operator_messages_total', { operator: name, outcome }, 0)
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const claimed = await this.sendDue(signal)
        if (claimed < AT_ONCE) await this.#p.db.clock.sleep(EVERY_MS, signal)
      }
    } finally {
      await this.#p.senders.close()
    }
  }

  /** Sends some of the notices that are due. @returns how many there were. */
  async sendDue(signal: AbortSignal): Promise<number> {
    const { db, senders } = this.#p
    const names = senders.operators.map(({ name }) => name)
    const claimed = await claimNotices(db, names, AT_ONCE, LEASE_MS)
    for (const notice of claimed) await settleNotice(db, notice, await this.#tell(notice, signal))
    return claimed.length
  }

  async #tell(notice: ClaimedNotice, signal: AbortSignal): Promise<NoticeResult> {
    const { senders, log, observer } = this.#p
    const operator = senders.operators.find(({ name }) => name === notice.operator)
    if (operator === undefined || signal.aborted) return { type: 'untried' }
    const about = { operator: operator.name, alarm: notice.name, notice: notice.noticeId }
    const result = await senders.send(operator, notice.noticeId, notice.body, signal)
    if (!result.ok && signal.aborted) return { type: 'untried' }
    if (result.ok) {
      observer.count('operator_messages_total', { operator: operator.name, outcome: 'sent' })
      const was = `operator ${operator.name} was told of alarm ${notice.name}`
      if (result.remark === undefined) log.info(about, was)
      else log.error(about, `${was}, ${result.remark}`)
      return { type: 'sent' }
    }
    const attempts = notice.attempts + 1
    const waitMs = backoffAfter(attempts, result)
    observer.count('operator_messages_total', { operator: operator.name, outcome: waitMs === null ? 'given_up' : 'failed' })
    const next = waitMs === null ? 'it is given up until the alarm is repeated' : 'it is tried again'
    log.error({ ...about, attempts }, `operator ${operator.name} could not be told of alarm ${notice.name}: ${result.error}; ${next}`)
    return { type: 'failed', attempts, error: result.error.slice(0, ERROR_LENGTH), waitMs }
  }
}

/** @returns how long to wait after so many tries, the last of which ended so; null when there is to be no other. */
export function backoffAfter(attempts: number, result: Extract<SendResult, { ok: false }>): number | null {
  const pauseMs = BACKOFF_MS[attempts - 1]
  return pauseMs === undefined ? null : Math.max(pauseMs, result.retryAfterMs ?? 0)
}
