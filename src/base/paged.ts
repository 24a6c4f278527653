type ReadPage<T> = (last: T | undefined) => Promise<readonly T[]>

/**
 * Reads a list page by page.
 * @param read returns up to `size` items that follow the item `last`. For the first page, `last` is undefined.
 */
export async function* pagesOf<T>(size: number, read: ReadPage<T>): AsyncGenerator<readonly T[]> {
  for (let last: T | undefined, more = true; more; ) {
    const page = await read(last)
    yield page
    last = page.at(-1)
    more = page.length === size
  }
}

/** Reads the same list as `pagesOf`, item by item. */
export async function* itemsOf<T>(size: number, read: ReadPage<T>): AsyncGenerator<T> {
  for await (const page of pagesOf(size, read)) yield* page
}
