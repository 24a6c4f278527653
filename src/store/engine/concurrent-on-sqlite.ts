import type { Query } from './db.ts'

type Asks = readonly (() => Promise<unknown>)[]
type Answers<T extends Asks> = { -readonly [K in keyof T]: Awaited<ReturnType<T[K]>> }

/**
 * Runs independent reads.
 * On SQLite, the reads run concurrently. A read may wait longer for the reading thread than the read itself takes.
 * Concurrent reads share this wait.
 * On Postgres, the reads run one after another. Otherwise, one page of the console could take all connections.
 */
export async function concurrentOnSqlite<const T extends Asks>(q: Pick<Query, 'kind'>, asks: T): Promise<Answers<T>> {
  if (q.kind === 'sqlite') return (await Promise.all(asks.map((ask) => ask()))) as Answers<T>
  const answers: unknown[] = []
  for (const ask of asks) answers.push(await ask())
  return answers as Answers<T>
}

/** Calls `concurrentOnSqlite` with one read per item. */
export function eachConcurrentOnSqlite<A, T>(q: Pick<Query, 'kind'>, each: readonly A[], ask: (one: A) => Promise<T>): Promise<T[]> {
  return concurrentOnSqlite(
    q,
    each.map((one) => () => ask(one)),
  )
}
