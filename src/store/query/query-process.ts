import { messageOf, UsageError } from '../../base/errors.ts'
import { guard } from '../../base/guarded-process.ts'
import { readPostgres } from './postgres.ts'
import type { AnswerPart, QueryMessage, QueryOrder } from './query.ts'
import { readSqlite } from './sqlite.ts'

/** Script of the child process that query.ts starts. The process runs one query, then exits. */

/** Maximum number of rows in one message. */
const BATCH = 200

guard()

process.once('message', (order: QueryOrder) => {
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

/** Sends a message and waits until the parent process accepts it. Otherwise unsent messages could fill the memory. */
function send(message: QueryMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, undefined, {}, (error) => (error === null ? resolve() : reject(error)))
  })
}
