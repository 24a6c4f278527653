import pg from 'pg'
import { FatalError, messageOf, TransientError } from '../../base/errors.ts'

const UNREACHABLE = ['Postgres cannot be reached', 'see whether it runs, and whether DATABASE_URL names its host and port'] as const

const UNTRUSTED = [
  'the certificate of the Postgres server is not trusted',
  'name the CA that vouches for it by sslrootcert, and the host as the certificate does',
] as const
const EXPIRED = [
  'the certificate of the Postgres server is out of date',
  'renew it there, unless the clock of this machine is wrong',
] as const
const NO_AGREEMENT = [
  'no TLS comes about with the Postgres server',
  'see whether it speaks TLS 1.2 or later, and whether sslcert and sslkey name a certificate and its key',
] as const
const NO_TLS = ['the Postgres server speaks no TLS', 'switch it on there, or leave it out of the URL'] as const

/** What the pool says when all of its connections stay in use; of one that cannot be made it says something else. */
const POOL_EXHAUSTED = 'timeout exceeded when trying to connect'
const NONE_FREE = [
  'no connection to Postgres came free in time',
  'see whether it is busy or does not answer, or whether another session holds a lock (pg_stat_activity tells)',
] as const

const LOCK_TIMEOUT = '55P03'
const READ_ONLY = '25006'

/** Classes and codes of SQLSTATE that pass by themselves or by somebody's mending the server, and what to do where there is something. */
const TRANSIENT: readonly (readonly [prefix: string, sentence: string, mend?: string])[] = [
  ['08', ...UNREACHABLE],
  ['28', 'Postgres does not let us in', 'see whether user and password of DATABASE_URL are right, and what pg_hba.conf allows'],
  [
    '42501',
    'Postgres does not allow this to the user of DATABASE_URL',
    'the one that migrates must own the tables and may create them in the schema; others need select, insert, update and delete',
  ],
  ['3F000', 'the schema cannot be used', 'let the user of DATABASE_URL use it (grant usage), or name another in DATABASE_SCHEMA'],
  ['3D000', 'the database does not exist on the Postgres server', 'create it, or name another in DATABASE_URL'],
  ['53100', 'Postgres has no room on its disk', 'make room there'],
  ['53300', 'Postgres has no connection left', 'raise its max_connections, or end what holds them'],
  ['53', 'Postgres has run out of memory, or of what its settings allow', 'its log tells of what'],
  ['58', 'Postgres meets an error of its system', 'its log tells which'],
  ['57P', 'Postgres is stopping or starting'],
  ['57014', 'Postgres took too long for a statement', 'see what it is busy with'],
  [LOCK_TIMEOUT, 'another transaction held a lock for too long', 'see whose that is (pg_stat_activity tells)'],
  ['25P', 'Postgres ended a transaction that had stood still'],
  [READ_ONLY, 'Postgres is read-only now', 'see whether DATABASE_URL leads to a standby, and who has set default_transaction_read_only'],
  ['40', 'Postgres could not order this transaction among others'],
]

/** @returns whether the transaction lost against another one and may simply be run again. */
export function isRetryable(error: unknown): boolean {
  return error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/** @returns whether `error`, as `postgresError` gave it, says that a lock was not had within the time that is set for it. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof TransientError && error.cause instanceof pg.DatabaseError && error.cause.code === LOCK_TIMEOUT
}

/** @returns whether the server refused to write because the session, or the server, is read-only. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === READ_ONLY
}

/** @returns whether the server answered with this error and goes on; if not, the connection is of no more use. */
export function isServerError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity !== 'FATAL' && error.severity !== 'PANIC'
}

/**
 * @returns TransientError for what time or the server's administrator mends, FatalError for damaged data; a mistake in a statement
 * or a violated constraint as it is.
 */
export function postgresError(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const code = error.code ?? ''
  if (code === 'XX001' || code === 'XX002') {
    return new FatalError(`Postgres reports damaged data (${error.message}); restore the database from a backup`, { cause: error })
  }
  const known = TRANSIENT.find(([prefix]) => code.startsWith(prefix))
  if (!known) return isServerError(error) ? error : connectionError(error)
  return transient(known[1], known[2], error)
}

/** For whatever is thrown while connecting, or while a connection breaks. */
export function connectionError(error: unknown): Error {
  const known = error instanceof pg.DatabaseError ? TRANSIENT.find(([prefix]) => error.code?.startsWith(prefix)) : undefined
  return known ? transient(known[1], known[2], error) : transient(...reasonOf(error), error)
}

/** What stands against a connection that no answer of the server tells of. */
function reasonOf(error: unknown): readonly [sentence: string, mend: string] {
  if (!(error instanceof Error)) return UNREACHABLE
  if (error.message === 'The server does not support SSL connections') return NO_TLS
  if (error.message === POOL_EXHAUSTED) return NONE_FREE
  const code = 'code' in error ? String(error.code) : ''
  if (/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/.test(code)) return EXPIRED
  if (/CERT|^UNABLE_TO_/.test(code)) return UNTRUSTED
  return /^(?:EPROTO|ERR_O?SSL_.*)$/.test(code) ? NO_AGREEMENT : UNREACHABLE
}

function transient(sentence: string, mend: string | undefined, error: unknown): TransientError {
  return new TransientError(`${sentence} (${messageOf(error)})${mend === undefined ? '' : `; ${mend}`}`, { cause: error })
}
