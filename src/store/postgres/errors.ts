import pg from 'pg'
import { ConcurrentWriteError, FatalError, messageOf, TransientError } from '../../base/errors.ts'

const UNREACHABLE = ['Postgres cannot be reached', 'check that it runs, and that DATABASE_URL names its host and port'] as const

const UNTRUSTED = [
  'the certificate of the Postgres server is not trusted',
  'set sslrootcert to the CA that signed it, and use the host name of the certificate',
] as const
const EXPIRED = [
  'the certificate of the Postgres server has expired or is not valid yet',
  'renew it there, unless the clock of this machine is wrong',
] as const
const NO_AGREEMENT = [
  'the TLS handshake with the Postgres server failed',
  'check that the server offers TLS 1.2 or later, and that sslcert and sslkey name a certificate and its key',
] as const
const BROKEN = ['the connection to Postgres broke off', 'check the log of the server, or of the proxy in front of it'] as const
const NO_TLS = ['the Postgres server does not offer TLS', 'enable TLS there, or remove sslmode from the URL'] as const

/** Error message of pg's pool if no connection becomes free in time. */
const POOL_EXHAUSTED = 'timeout exceeded when trying to connect'
const NONE_FREE = [
  'no connection to Postgres became free in time',
  'check in pg_stat_activity whether the server is busy or another session holds a lock',
] as const

const BROKEN_OFF = /^(?:Connection terminated unexpectedly|Client has encountered a connection error)/

const LOCK_TIMEOUT = '55P03'
const READ_ONLY = '25006'

/** Problems that are temporary or that an administrator can fix: class or code of SQLSTATE, description, and fix. */
const TRANSIENT: readonly (readonly [prefix: string, sentence: string, fix?: string])[] = [
  ['08', ...UNREACHABLE],
  ['28', 'Postgres rejected the login', 'check user and password in DATABASE_URL, and what pg_hba.conf allows'],
  [
    '42501',
    'the user of DATABASE_URL lacks a right in Postgres',
    'the user that migrates must own the tables and be able to create them in the schema; other users need select, insert, update and delete',
  ],
  ['3F000', 'the schema cannot be used', 'grant the user of DATABASE_URL usage on it, or name another in DATABASE_SCHEMA'],
  ['3D000', 'the database does not exist on the Postgres server', 'create it, or name another in DATABASE_URL'],
  ['53100', 'the disk of the Postgres server is full', 'free space there'],
  ['53300', 'Postgres has no connection left', 'raise max_connections, or close connections of other programs'],
  ['53', 'Postgres ran out of memory or of another limited resource', 'its log shows the cause'],
  ['58', 'Postgres met a system error', 'its log shows the cause'],
  [
    '57P01',
    'Postgres ended the session',
    'the server is stopping, or an administrator ends its sessions (pg_terminate_backend); its log shows the cause',
  ],
  ['57P05', 'Postgres ended a session that was idle', 'set idle_session_timeout to 0 for the user of DATABASE_URL'],
  ['57P', 'Postgres is stopping or starting'],
  ['57014', 'a statement exceeded its time limit in Postgres', 'check what the server is busy with'],
  [LOCK_TIMEOUT, 'another transaction held a lock for too long', 'find its session in pg_stat_activity'],
  ['25P', 'Postgres ended a transaction that was idle for too long'],
  [READ_ONLY, 'Postgres is read-only now', 'check whether DATABASE_URL leads to a standby, and who has set default_transaction_read_only'],
  ['40', 'the transaction conflicted with others in Postgres'],
]

/**
 * @returns whether a notice says that the server confirmed a commit before the standby stored it. Checks `routine`
 * first, because the language of `message` depends on the server.
 */
export function isCutWait(notice: { readonly routine?: string | undefined; readonly message?: string | undefined }): boolean {
  return notice.routine === 'SyncRepWaitForLSN' || (notice.message ?? '').startsWith('canceling wait for synchronous replication')
}

/**
 * @returns whether a statement got no answer in time. The statement may still run on the server. Checks the message,
 * because pg gives this error no code.
 */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** Error: all connections of the pool wait for the server's answer to a statement. */
export function allUnanswered(count: number): TransientError {
  return new TransientError(
    `Postgres does not answer on any of ${count} connections; check whether commits wait for a standby that is away (wait_event SyncRep in pg_stat_activity), or the server hangs`,
  )
}

/**
 * Error: the server doesn't accept writes.
 * @param what description of the server, such as `a standby`.
 */
export function notWritable(server: string, what: string): TransientError {
  return new TransientError(`${server} is ${what} and takes no writes; name the primary in DATABASE_URL, or all servers: h1:5432,h2:5432`)
}

export function outdatedPrimary(server: string, timeline: number, newest: number): TransientError {
  return new TransientError(`${server} is primary on timeline ${timeline}, and another server on timeline ${newest}; stop ${server}`)
}

/**
 * Error: none of the configured servers accepts writes.
 * @param failures for each server, why it can't be used.
 */
export function noneWritable(failures: readonly (readonly [server: string, reason: Error])[]): TransientError {
  const reasons = failures.map(([server, reason]) => (reason.message.startsWith(server) ? reason.message : `${server}: ${reason.message}`))
  return new TransientError(`none of the ${failures.length} servers in DATABASE_URL takes writes now: ${reasons.join('; ')}`, {
    cause: failures.at(-1)?.[1],
  })
}

/** Error: the outcome of a commit is unknown. */
export function commitUnknown(error: unknown): TransientError {
  return new TransientError(`It is unknown whether the transaction was committed: ${messageOf(error)}`, { cause: error })
}

/**
 * @returns whether the transaction failed because of a deadlock, a serialization failure, or a concurrent write of the
 * same row. Such a transaction can be run again.
 */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ConcurrentWriteError) return true
  return error instanceof pg.DatabaseError && (error.code === '40001' || error.code === '40P01')
}

/**
 * @returns whether a statement waited too long for a lock.
 * @param error from `postgresError`.
 */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof TransientError && error.cause instanceof pg.DatabaseError && error.cause.code === LOCK_TIMEOUT
}

/** @returns the SQLSTATE of a failed query; undefined if the error didn't come from the server. */
export function sqlStateOf(error: unknown): string | undefined {
  const known = error instanceof TransientError ? error.cause : error
  return known instanceof pg.DatabaseError ? known.code : undefined
}

/** @returns whether a write was rejected because the server or the session is read-only. */
export function isReadOnly(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === READ_ONLY
}

/** @returns whether the server reported the error, and the connection still works after it. */
export function isServerError(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity !== 'FATAL' && error.severity !== 'PANIC'
}

/**
 * Translates an error of a query.
 * @returns TransientError for a temporary or fixable problem; FatalError for damaged data; other errors unchanged.
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

export function connectionError(error: unknown): Error {
  if (error instanceof TransientError) return error
  const known = error instanceof pg.DatabaseError ? TRANSIENT.find(([prefix]) => error.code?.startsWith(prefix)) : undefined
  return known ? transient(known[1], known[2], error) : transient(...reasonOf(error), error)
}

function reasonOf(error: unknown): readonly [sentence: string, fix: string] {
  if (!(error instanceof Error)) return UNREACHABLE
  if (error.message === 'The server does not support SSL connections') return NO_TLS
  if (error.message === POOL_EXHAUSTED) return NONE_FREE
  if (BROKEN_OFF.test(error.message)) return BROKEN
  const code = 'code' in error ? String(error.code) : ''
  if (/^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/.test(code)) return EXPIRED
  if (/CERT|^UNABLE_TO_/.test(code)) return UNTRUSTED
  return /^(?:EPROTO|ERR_O?SSL_.*)$/.test(code) ? NO_AGREEMENT : UNREACHABLE
}

function transient(sentence: string, fix: string | undefined, error: unknown): TransientError {
  return new TransientError(`${sentence} (${messageOf(error)})${fix === undefined ? '' : `; ${fix}`}`, { cause: error })
}
