import type { Query } from './db.ts'

type Asks = readonly (() => Promise<unknown>)[]
type Answers<T extends Asks> = { -readonly [K in keyof T]: Awaited<ReturnType<T[K]>> }

/**
 * Asks several things that do not depend on each other. On SQLite at once: beside deliveries, each wait for the reading thread costs more than
 * what it reads. On Postgres one after the other, for a page that is looked at must not take all connections.
 */
export async function gather<const T extends Asks>(q: Pick<Query, 'kind'>, asks: T): Promise<Answers<T>> {
  if (q.kind === 'sqlite') return (await Promise.all(asks.map((ask) => ask()))) as Answers<T>
  const answers: unknown[] = []
  for (const ask of asks) answers.push(await ask())
  return answers as Answers<T>
}
