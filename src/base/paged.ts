type ReadPage<T> = (last: T | undefined) => Promise<readonly T[]>

/** All pages of a list. @param read returns up to `size` items after the last one. */
export async function* pagesOf<T>(size: number, read: ReadPage<T>): AsyncGenerator<readonly T[]> {
  for (let last: T | undefined, more = true; more; ) {
    const page = await read(last)
    yield page
    last = page.at(-1)
    more = page.length === size
  }
}

/** The items of `pagesOf`. */
export async function* itemsOf<T>(size: number, read: ReadPage<T>): AsyncGenerator<T> {
  for await (const page of pagesOf(size, read)) yield* page
}
