import { UnexpectedAnswer } from './errors.ts'

interface Page<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

export interface Feed<T> extends AsyncIterable<T> {
  /**
   * Newest cursor that was not null; before the first page, the `since` that the caller passed. To continue later, pass
   * this cursor as `since`.
   */
  readonly cursor: string | null
}

/**
 * Reads a feed until its cursor is null. Earlier pages may be short or empty. Skips repeated items.
 * @throws UnexpectedAnswer if a cursor repeats.
 */
export function readFeed<T extends { readonly id: string }>(
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
        if (cursors.has(page.next_cursor)) throw new UnexpectedAnswer('The feed repeated a cursor, so it would never end.')
        cursors.add(page.next_cursor)
        at = page.next_cursor
        cursor = at
      }
    },
  }
}
