import { abortable, withTimeout } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { PermanentError, UsageError } from '../../base/errors.ts'
import { startGuarded } from '../../base/guarded-process.ts'
import type { Json } from '../../model/json.ts'
import type { DatabaseConfig } from '../engine/db.ts'
import { refuseUnsuitable } from './statement.ts'

/** One statement that reads. */
export interface ReaderQuery {
  readonly sql: string
  /** Rows at most; null: all. */
  readonly limit: number | null
  readonly timeoutMs: number
}

/** A piece of the answer: first the names of the columns, then rows, each in the order of the columns. */
export type AnswerPart = { readonly columns: readonly string[] } | { readonly rows: readonly (readonly Json[])[] }

/** What the process of query-process.ts is told. */
export interface QueryOrder extends ReaderQuery {
  readonly database:
    | { readonly kind: 'sqlite'; readonly path: string }
    | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }
}

/** What it tells. `isCut`: there are more rows than were asked for. */
export type QueryMessage = AnswerPart | { readonly isCut: boolean } | { readonly problems: readonly string[]; readonly isUsage: boolean }

/**
 * Runs one statement as a reader of the mirror sees it, read-only and beside a running `serve`, in a process of its own: a statement in SQLite
 * can be ended in no other way.
 * @param onPart gets the answer piece by piece.
 * @returns whether there are more rows than `limit`.
 * @throws UsageError for a statement that writes, is not understood or names an internal table; PermanentError when it failed or took longer
 * than it may; the reason of `signal` when it aborts.
 */
export async function runQuery(
  database: DatabaseConfig,
  query: ReaderQuery,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  onPart: (part: AnswerPart) => void,
): Promise<boolean> {
  refuseUnsuitable(query.sql, database.kind)
  const { timeoutMs } = query
  const late = new PermanentError(`the query was stopped: it was not done after ${timeoutMs / 1000} s; narrow it, or raise --timeout`)
  return await withTimeout(clock, timeoutMs, signal, (ending) => answerOf(orderOf(database, query), ending, onPart), late)
}

function orderOf(database: DatabaseConfig, query: ReaderQuery): QueryOrder {
  if (database.kind === 'sqlite') return { ...query, database }
  return { ...query, database: { kind: 'postgres', url: database.url.reveal(), schema: database.schema } }
}

async function answerOf(order: QueryOrder, ending: AbortSignal, onPart: (part: AnswerPart) => void): Promise<boolean> {
  ending.throwIfAborted()
  // Run from its source the program's files end in .ts, built ones in .js.
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
    done.reject(new PermanentError('the process of the query ended early; it may have lacked memory: ask for less')),
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
