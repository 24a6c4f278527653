import type { Clock } from '../../base/clock.ts'
import type { Output } from '../../base/host.ts'
import type { RunCounts, RunRow } from '../../store/reconcile/runs.ts'
import { findingKinds } from '../../store/schema/reconcile.ts'
import { printableLine } from '../output/text.ts'

/** Clears the line. Write this text as bytes, because the output escapes control characters in strings. */
const ERASE = '\r\u001b[2K'
/** The displayed rate (submissions per second) is the average over at most this many ms. */
const WINDOW_MS = 30_000

/** Progress line of a reconcile run at a terminal: done, left, rate, remaining time. Elsewhere, prints nothing. */
export class ReconcileScreen {
  readonly #output: Output
  readonly #clock: Clock
  readonly #seen: { readonly at: number; readonly done: number }[] = []
  #shown = false

  constructor(output: Output, clock: Clock) {
    this.#output = output
    this.#clock = clock
  }

  show(run: RunRow, counts: RunCounts): void {
    if (!this.#output.isTTY) return
    const now = this.#clock.steady()
    this.#seen.push({ at: now, done: counts.submissions_done })
    while ((this.#seen[0]?.at ?? now) < now - WINDOW_MS) this.#seen.shift()
    const first = this.#seen[0] ?? { at: now, done: counts.submissions_done }
    const rate = now === first.at ? null : ((counts.submissions_done - first.done) * 1000) / (now - first.at)
    // Cut the line to the terminal's width, because a wrapped line can't be erased.
    const line = printableLine(progressLine(run.account, counts, rate), (this.#output.columns || Number.POSITIVE_INFINITY) - 1)
    this.#output.write(Buffer.from(`${ERASE}${line}`))
    this.#shown = true
  }

  clear(): void {
    if (this.#shown) this.#output.write(Buffer.from(ERASE))
    this.#shown = false
  }
}

/** @returns the text of the progress line. @param rate submissions per second; null if unknown. */
export function progressLine(account: string, counts: RunCounts, rate: number | null): string {
  const { submissions_done: done, submissions_total: total } = counts
  const left = Math.max(0, total - done)
  const found = findingKinds.reduce((sum, kind) => sum + counts[kind], 0)
  const share = total === 0 ? 100 : Math.floor((done * 100) / total)
  const speed =
    rate === null
      ? ''
      : `, ${rate >= 10 ? Math.round(rate) : rate.toFixed(1)} per second${rate > 0 ? `, about ${duration(left / rate)} left` : ''}`
  return `${account}: ${done} of ${total} submissions checked (${share} %)${speed}; ${found} ${found === 1 ? 'finding' : 'findings'}`
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`
  if (seconds < 7_200) return `${Math.ceil(seconds / 60)} min`
  return `${(seconds / 3_600).toFixed(1)} h`
}
