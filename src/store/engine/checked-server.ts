import { sql } from 'kysely'
import { TransientError } from '../../base/errors.ts'
import type { Query, Tx } from './db.ts'

/**
 * A new Postgres server may lack committed changes. Check its log (`checkLogEpoch`) before using its numbers. On SQLite the open file never
 * changes.
 */

/** Unreadable part of a server's identity. Matches any value. */
export const UNKNOWN = '-'

/** This transaction runs on an unchecked server, or on a server with a shorter change log than before. */
export class LogMovedError extends TransientError {
  constructor(what: string) {
    super(`${what}; nothing was written, and the change log is checked first, within seconds (docker/runbook.md, "Log divergence")`)
  }
}

/** @returns system identifier and timeline of the Postgres server; undefined before `identifyServer`. */
export async function askServer(q: Query): Promise<string | undefined> {
  const { serverExpression } = q.seen
  if (serverExpression === undefined) return undefined
  const row = await q.one(sql<{ server: string }>`select ${serverExpression} as server`)
  return row?.server
}

/**
 * @param server value of `serverExpression` in this transaction; undefined if unreadable. @throws LogMovedError if certainly not the
 * checked server.
 */
export function requireServer(tx: Tx, server: string | undefined): void {
  const { server: checked } = tx.seen
  if (server === undefined || checked === null || !isOtherServer(server, checked)) return
  throw new LogMovedError(`the database is on another server or timeline (${server}) than before (${checked})`)
}

/** `requireServer` for a transaction that has not read the server. */
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
