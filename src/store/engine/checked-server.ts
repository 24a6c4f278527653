import { sql } from 'kysely'
import { TransientError } from '../../base/errors.ts'
import type { Query, Tx } from './db.ts'

/**
 * After a switch to another Postgres server nothing may use numbers of the change log before the log has been checked (`checkLogEpoch`): the
 * server may lack changes that were committed. On SQLite the open file stays the same.
 */

/** A part of a server's text that cannot be told. It equals everything. */
export const UNKNOWN = '-'

/** The server behind this transaction is not the one whose change log was checked, or its log is shorter than it was. */
export class LogMovedError extends TransientError {
  constructor(what: string) {
    super(`${what}; nothing was written, and the change log is checked first, within seconds (docker/runbook.md, "A lost branch")`)
  }
}

/** @returns system identifier and timeline of the Postgres server; undefined before `learnServer` has found out how to ask. */
export async function askServer(q: Query): Promise<string | undefined> {
  const { serverExpression } = q.seen
  if (serverExpression === undefined) return undefined
  const { rows } = await sql<{ server: string }>`select ${serverExpression} as server`.execute(q.sql)
  return rows[0]?.server
}

/**
 * @param server from `serverExpression`, read in this transaction; undefined when it cannot be told.
 * @throws LogMovedError when it is certainly another one than the one that was checked.
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

/** Whether two servers are certainly different. */
export function isOtherServer(one: string, other: string): boolean {
  const parts = other.split('/')
  return one.split('/').some((part, index) => {
    const same = parts[index] ?? ''
    return part !== '' && same !== '' && part !== UNKNOWN && same !== UNKNOWN && part !== same
  })
}
