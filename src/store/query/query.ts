import { abortable, withTimeout } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { PermanentError, UsageError } from '../../base/errors.ts'
import { startGuarded } from '../../base/guarded-process.ts'
import type { Json } from '../../model/json.ts'
import type { DatabaseConfig } from '../engine/db.ts'
import { refuseUnsuitable } from './statement.ts'

export interface ReaderQuery {
  readonly sql: string
  /** Maximum number of rows; null for all rows. */
  readonly limit: number | null
  readonly timeoutMs: number
}

/**
 * Part of the answer. The first part has the column names. All other parts have rows, with values in the order
 * of the columns.
 */
export type AnswerPart = { readonly columns: readonly string[] } | { readonly rows: readonly (readonly Json[])[] }

/** What the child process query-process.ts receives. */
export interface QueryOrder extends ReaderQuery {
  readonly database:
    | { readonly kind: 'sqlite'; readonly path: string }
    | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
}

/** What the child process sends. `isCut`: whether the query has more rows than the limit. */
export type QueryMessage = AnswerPart | { readonly isCut: boolean } | { readonly problems: readonly string[]; readonly isUsage: boolean }

/**
 * Runs one read-only statement on the mirror's tables and views, also while `serve` runs. The statement runs in a child
 * process, because SQLite's driver can stop a running statement only by killing its process.
 * @param onPart receives the answer in parts.
 * @returns whether the query has more rows than `limit`.
 * @throws UsageError if the statement writes, is invalid, or names an internal table. PermanentError if the statement
 * failed or took too long. The reason of `signal` if it is aborted.
 */
export async function runQuery(
  database: DatabaseConfig,
  query: ReaderQuery,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  onPart: (part: AnswerPart) => void,
): Promise<boolean> {
  refuseUnsuitable(query.sql, database.kind)
  const { timeoutMs } = query
  const late = new PermanentError(`the query was stopped after ${timeoutMs / 1000} s. Narrow it, or raise --timeout`)
  return await withTimeout(clock, timeoutMs, signal, (ending) => answerOf(orderOf(database, query), ending, onPart), late)
}

function orderOf(database: DatabaseConfig, query: ReaderQuery): QueryOrder {
  if (database.kind === 'sqlite') return { ...query, database }
  return { ...query, database: { kind: 'postgres', url: database.url.reveal(), schema: database.schema } }
}

async function answerOf(order: QueryOrder, ending: AbortSignal, onPart: (part: AnswerPart) => void): Promise<boolean> {
  ending.throwIfAborted()
  // The script has the same extension as this file: .ts in the source, .js in a build.
  const script = import.meta.url.endsWith('.ts') ? './query-process.ts' : './query-process.js'
  const child = startGuarded(new URL(script, import.meta.url), { stderr: 'inherit' })
  const done = Promise.withResolvers<boolean>()
  child.on('message', (message: QueryMessage) => {
    try {
      if ('isCut' in message) done.resolve(message.isCut)
      else if ('problems' in message) done.reject(errorOf(message.problems, message.isUsage))
      else if (!ending.aborted) onPart(message)
    } catch (error) {
      child.removeAllListeners('message')
      done.reject(error)
    }
  })
  child.on('error', (error) => done.reject(error))
  child.on('disconnect', () =>
    done.reject(new PermanentError('the process of the query ended early, maybe for lack of memory. Request fewer rows')),
  )
  child.send(order)
  try {
    return await abortable(done.promise, ending)
  } finally {
    child.kill('SIGKILL')
  }
}

function errorOf(problems: readonly string[], isUsage: boolean): Error {
  return isUsage ? new UsageError(problems) : new PermanentError(problems.join('; '))
}
