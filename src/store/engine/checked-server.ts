import { sql } from 'kysely'
import { TransientError } from '../../base/errors.ts'
import type { Query, Tx } from './db.ts'

/**
 * After a failover, a Postgres connection may reach a server that lacks committed changes.
 * `checkLogEpoch` checks the change log of the server. Before this check, no transaction may assign change numbers.
 * On SQLite, transactions need no such check, because a connection always uses the same file.
 */

/** Placeholder for a part of a server identity that couldn't be read. In comparisons, it equals every value. */
export const UNKNOWN = '-'

/** Thrown if a transaction runs on an unchecked server, or if the log lacks a change that this process saw. */
export class LogMovedError extends TransientError {
  constructor(what: string) {
    super(`${what}; nothing was written, and the change log is checked first, within seconds (docker/warnings-data.md, "Log divergence")`)
  }
}

/** @returns system identifier and timeline of the Postgres server; undefined on SQLite and before `identifyServer`. */
export async function askServer(q: Query): Promise<string | undefined> {
  const { serverExpression } = q.seen
  if (serverExpression === undefined) return undefined
  const row = await q.one(sql<{ server: string }>`select ${serverExpression} as server`)
  return row?.server
}

/**
 * Checks that a transaction runs on the checked server.
 * @param server identity that `serverExpression` returned in this transaction; undefined if unknown.
 * @throws LogMovedError if the transaction's server and the checked server differ in a part that is known for both.
 */
export function requireServer(tx: Tx, server: string | undefined): void {
  const { server: checked } = tx.seen
  if (server === undefined || checked === null || !isOtherServer(server, checked)) return
  throw new LogMovedError(`the database is on another server or timeline (${server}) than before (${checked})`)
}

/** Asks Postgres for the identity of its server, then calls `requireServer`. Does nothing on SQLite. */
export async function requireCheckedServer(tx: Tx): Promise<void> {
  if (tx.kind === 'postgres') requireServer(tx, await askServer(tx))
}

export function isOtherServer(one: string, other: string): boolean {
  const parts = other.split('/')
  return one.split('/').some((part, index) => {
    const same = parts[index] ?? ''
    return part !== '' && same !== '' && part !== UNKNOWN && same !== UNKNOWN && part !== same
  })
}
