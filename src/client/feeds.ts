import { UnexpectedAnswer } from './errors.ts'

/** One page of a feed, as the iteration needs it. */
interface Page<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

/** Items of a feed one after the other, each once. */
export interface Feed<T> extends AsyncIterable<T> {
  /** The last cursor that was not null: give it as `since` to go on later. Null until there is one. */
  readonly cursor: string | null
}

/**
 * Walks a feed to its end, which a null cursor tells and nothing else: a page may be short or empty before it.
 * @throws UnexpectedAnswer when a cursor comes again, for the walk would never end; whatever `pageAt` throws.
 */
export function walk<T extends { readonly id: string }>(
  since: string | null,
  pageAt: (since: string | undefined) => Promise<Page<T>>,
): Feed<T> {
  let cursor = since
  return {
    get cursor() {
      return cursor
    },
    async *[Symbol.asyncIterator]() {
      const [seen, cursors] = [new Set<string>(), new Set<string | null>([since])]
      for (let at = since; ; ) {
        const page = await pageAt(at ?? undefined)
        for (const item of page.items) {
          if (seen.has(item.id)) continue
          seen.add(item.id)
          yield item
        }
        if (page.next_cursor === null) return
        if (cursors.has(page.next_cursor)) throw new UnexpectedAnswer('the feed came back to a cursor that it had left: it would never end')
        cursors.add(page.next_cursor)
        at = page.next_cursor
        cursor = at
      }
    },
  }
}
