import { sql } from 'kysely'
import { TransientError } from '../../base/errors.ts'
import type { Query, Tx } from './db.ts'

/**
 * After a switch to another Postgres server, check the log (`checkLogEpoch`) before using its numbers: the server may lack committed
 * changes. On SQLite the open file stays the same.
 */

/** An unreadable part of a server's identity. It equals everything. */
export const UNKNOWN = '-'

/** The server of this transaction is not the one whose change log was checked, or its log is shorter than it was. */
export class LogMovedError extends TransientError {
  constructor(what: string) {
    super(`${what}; nothing was written, and the change log is checked first, within seconds (docker/runbook.md, "Log divergence")`)
  }
}

/** @returns system identifier and timeline of the Postgres server; undefined until `identifyServer` found out how to ask. */
export async function askServer(q: Query): Promise<string | undefined> {
  const { serverExpression } = q.seen
  if (serverExpression === undefined) return undefined
  const row = await q.one(sql<{ server: string }>`select ${serverExpression} as server`)
  return row?.server
}

/**
 * @param server from `serverExpression`, read in this transaction; undefined if unreadable. @throws LogMovedError if it certainly differs
 * from the checked one.
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
