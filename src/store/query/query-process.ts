import { Worker } from 'node:worker_threads'
import { messageOf, UsageError } from '../../base/errors.ts'
import { readPostgres } from './postgres.ts'
import type { AnswerPart, QueryMessage, QueryOrder } from './query.ts'
import { readSqlite } from './sqlite.ts'

/** The process of query.ts. */

/** Rows that travel together. */
const BATCH = 200

/**
 * For when the program that started this process was killed. SQLite leaves this thread no turn until the statement ends, so another one waits;
 * it loads nothing.
 */
const WATCHDOG = "setTimeout(() => process.kill(process.pid, 'SIGKILL'), require('node:worker_threads').workerData)"
/** The program itself comes first, and says why. */
const WATCHDOG_LATER_MS = 1_000

process.once('message', (order: QueryOrder) => {
  new Worker(WATCHDOG, { eval: true, workerData: order.timeoutMs + WATCHDOG_LATER_MS }).unref()
  void answer(order)
    .catch((error: unknown) =>
      send(error instanceof UsageError ? { problems: error.problems, isUsage: true } : { problems: [messageOf(error)], isUsage: false }),
    )
    .finally(() => process.exit())
})

async function answer(order: QueryOrder): Promise<void> {
  let left = order.limit ?? Number.POSITIVE_INFINITY
  for await (const part of partsOf(order)) {
    if ('columns' in part) await send(part)
    else {
      await send({ rows: part.rows.slice(0, left) })
      left -= part.rows.length
      if (left < 0) break
    }
  }
  await send({ isCut: left < 0 })
}

function partsOf({ database, sql, limit, timeoutMs }: QueryOrder): AsyncIterable<AnswerPart> | Iterable<AnswerPart> {
  const batch = Math.min(BATCH, (limit ?? BATCH) + 1)
  return database.kind === 'sqlite' ? readSqlite(database.path, sql, batch) : readPostgres(database, sql, batch, timeoutMs)
}

/** Waits until the other side has room, so that no long answer gathers here. */
function send(message: QueryMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, {}, (error) => (error === null ? resolve() : reject(error)))
  })
}
