import type { Call } from './operations.ts'

/** The service's limits of items per page. A page may have fewer items (trap 6). */
const MAX_ITEMS: Readonly<Record<string, number>> = { events: 100, thread: 200 }
/**
 * Limit of the bytes of a page, because several pages are in memory at the same time. A page of one item may use the
 * client's limit instead.
 */
const PAGE_LIMIT_BYTES = 4 * 1024 * 1024
const SHRINK_FACTOR = 4
const GROW_FACTOR = 2
/** If a page is smaller than 1/8 of the byte limit, the next page may have more items. */
const SMALL_SHARE = 8
const MAX_REMEMBERED = 1_000

/** Items per page for each feed: the maximum, or fewer after a page was too large. */
export class PageSizes {
  readonly #lowered = new Map<string, number>()

  of(call: Call): { readonly items: number; readonly bodyLimitBytes: number | undefined } {
    const items = this.#itemsOf(call)
    return { items, bodyLimitBytes: items > 1 ? PAGE_LIMIT_BYTES : undefined }
  }

  /**
   * Reduces the page size after an oversized page.
   * @returns false if the page size is already one item.
   */
  lower(call: Call): boolean {
    const items = this.#itemsOf(call)
    if (items > 1) this.#remember(call, Math.max(1, Math.floor(items / SHRINK_FACTOR)))
    return items > 1
  }

  /**
   * Increases a reduced page size after a small page.
   * @param chars length of the page.
   */
  fitted(call: Call, chars: number): void {
    if (chars >= PAGE_LIMIT_BYTES / SMALL_SHARE) return
    const items = this.#itemsOf(call) * GROW_FACTOR
    if (items < maxItemsOf(call)) this.#remember(call, items)
    else this.#lowered.delete(keyOf(call))
  }

  #itemsOf(call: Call): number {
    return this.#lowered.get(keyOf(call)) ?? maxItemsOf(call)
  }

  #remember(call: Call, items: number): void {
    const key = keyOf(call)
    this.#lowered.delete(key)
    this.#lowered.set(key, items)
    const [oldest] = this.#lowered.keys()
    if (this.#lowered.size > MAX_REMEMBERED && oldest !== undefined) this.#lowered.delete(oldest)
  }
}

function keyOf({ operation, submissionId }: Call): string {
  return `${operation} ${submissionId}`
}

function maxItemsOf({ operation }: Call): number {
  return MAX_ITEMS[operation] ?? 1
}
