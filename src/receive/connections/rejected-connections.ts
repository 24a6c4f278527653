import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { RejectedConnections } from '../../store/inbox/rejected-connections.ts'

/**
 * Why a connection was closed or rejected:
 * - `too_many`: the address has too many connections
 * - `full`: all places are taken
 * - `banned`: the address misbehaved within the last 10 s
 * - `wasted`: the address opened too many connections without sending a request
 * - `slow_header`, `slow_body`: sent too slowly
 * - `unread_answer`: the sender did not read the answer
 * - `pipelined`: sent many requests without waiting for answers
 * - `small_chunks`: sent a body in tiny chunks
 * - `long_header`: sent more than 16 KiB of headers
 * - `tls`: sent TLS to the HTTP port
 * - `no_http`: sent data that isn't HTTP
 */
export type RejectionReason =
  | 'too_many'
  | 'full'
  | 'banned'
  | 'wasted'
  | 'slow_header'
  | 'slow_body'
  | 'unread_answer'
  | 'pipelined'
  | 'small_chunks'
  | 'long_header'
  | 'tls'
  | 'no_http'

/** How to fix the sender. Added to the log line. */
const HINTS: Partial<Readonly<Record<RejectionReason, string>>> = {
  long_header: 'a request with more than 16 KiB of headers is answered 431; its sender, or the proxy before this port, must send fewer',
  tls: 'this port speaks plain HTTP; use an http:// address, or let the proxy that ends TLS forward to it',
}

const REPORT_EVERY_MS = 60_000
const MAX_ADDRESSES = 10_000

export interface RejectionsOptions {
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  /** Stores the counts for the process that checks alarms. */
  readonly keep: (rejected: RejectedConnections) => Promise<void>
}

/** Counts rejected connections. Logs and stores the counts at most once a minute, and when the receiver stops. */
export class ConnectionRejections {
  readonly #o: RejectionsOptions
  #counts = new Map<RejectionReason, number>()
  #addresses = new Map<string, number>()
  #alertedAt = Number.NEGATIVE_INFINITY
  #cancel: (() => void) | null = null

  constructor(options: RejectionsOptions) {
    this.#o = options
  }

  note(reason: RejectionReason, address: string): void {
    this.#o.observer.count('connections_rejected_total', { reason })
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1)
    if (this.#addresses.size < MAX_ADDRESSES || this.#addresses.has(address))
      this.#addresses.set(address, (this.#addresses.get(address) ?? 0) + 1)
    // Waits at least 1 s, so that the first log line covers several connections.
    const waitMs = Math.max(1_000, this.#alertedAt + REPORT_EVERY_MS - this.#o.clock.steady())
    this.#cancel ??= this.#o.clock.after(waitMs, () => void this.report())
  }

  /** Logs and stores the rejections since the last call. Does nothing if there are none. Never throws. */
  async report(): Promise<void> {
    this.#cancel?.()
    this.#cancel = null
    if (this.#counts.size === 0) return
    const counts = [...this.#counts].sort(([, a], [, b]) => b - a)
    const [worst = 'unknown', ofWorst = 0] = [...this.#addresses].sort(([, a], [, b]) => b - a)[0] ?? []
    const total = counts.reduce((sum, [, count]) => sum + count, 0)
    const byReason = Object.fromEntries(counts)
    const hints = counts.flatMap(([reason]) => (HINTS[reason] === undefined ? [] : [`; ${reason}: ${HINTS[reason]}`]))
    this.#o.log.warn(
      { reasons: byReason, addresses: this.#addresses.size, worst, ofWorst },
      `${total} connections were rejected or closed to keep the receiver free, ${ofWorst} of them from ${worst} (${counts[0]?.[0]} most often)${hints.join('')}`,
    )
    this.#counts = new Map()
    this.#addresses = new Map()
    this.#alertedAt = this.#o.clock.steady()
    await this.#o.keep({ byReason, worstAddress: worst }).catch((error: unknown) => {
      this.#o.log.warn(`the count of rejected connections could not be stored, so the alarm may not fire: ${messageOf(error)}`)
    })
  }
}
