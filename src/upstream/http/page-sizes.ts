import type { Call } from './operations.ts'

/** The most that the service gives at once; more is clamped, and a page may be shorter all the same (trap 6). */
const MOST: Readonly<Record<string, number>> = { events: 100, thread: 200 }
/** Several pages are in memory at once, and each is parsed and applied in one go. A page of one item may be as long as an answer may be. */
const PAGE_LIMIT_BYTES = 4 * 1024 * 1024
const LESS = 4
const MORE = 2
/** A page that has less than this share of the limit could have had more items. */
const SMALL_SHARE = 8
/** Feeds that are remembered; of any other the most is asked for. */
const REMEMBERED = 1_000

/** How many items of a feed are asked for at once: as many as the service gives, fewer of a feed whose pages were too large. */
export class PageSizes {
  readonly #lowered = new Map<string, number>()

  of(call: Call): { readonly items: number; readonly bodyLimitBytes: number | undefined } {
    const items = this.#itemsOf(call)
    return { items, bodyLimitBytes: items > 1 ? PAGE_LIMIT_BYTES : undefined }
  }

  /** A page was too large. @returns whether one can have fewer items. */
  lower(call: Call): boolean {
    const items = this.#itemsOf(call)
    if (items > 1) this.#remember(call, Math.max(1, Math.floor(items / LESS)))
    return items > 1
  }

  /** A page had so many characters. */
  fitted(call: Call, chars: number): void {
    if (chars >= PAGE_LIMIT_BYTES / SMALL_SHARE) return
    const items = this.#itemsOf(call) * MORE
    if (items < mostOf(call)) this.#remember(call, items)
    else this.#lowered.delete(keyOf(call))
  }

  #itemsOf(call: Call): number {
    return this.#lowered.get(keyOf(call)) ?? mostOf(call)
  }

  #remember(call: Call, items: number): void {
    const key = keyOf(call)
    this.#lowered.delete(key)
    this.#lowered.set(key, items)
    const [oldest] = this.#lowered.keys()
    if (this.#lowered.size > REMEMBERED && oldest !== undefined) this.#lowered.delete(oldest)
  }
}

function keyOf({ operation, submissionId }: Call): string {
  return `${operation} ${submissionId}`
}

function mostOf({ operation }: Call): number {
  return MOST[operation] ?? 1
}
