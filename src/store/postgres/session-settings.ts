import pg from 'pg'

const STATEMENT_TIMEOUT_MS = 30_000
const LOCK_TIMEOUT_MS = 10_000
/** The same for reports of health: a part of the report that isn't read in this time is reported as unread. */
export const SHORT_LOCK_TIMEOUT_MS = 200
const IDLE_IN_TRANSACTION_MS = 30_000
/** Longer than the server's own statement limit: past it, the server or the network is gone, or a commit waits for a standby. */
export const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5_000

/** Settings of every connection. */
function settings(schema: string, lockTimeoutMs: number): [name: string, value: string][] {
  return [
    ['search_path', pg.escapeIdentifier(schema)],
    ['timezone', "'UTC'"],
    ['datestyle', "'ISO, YMD'"],
    ['statement_timeout', String(STATEMENT_TIMEOUT_MS)],
    ['lock_timeout', String(lockTimeoutMs)],
    ['idle_in_transaction_session_timeout', String(IDLE_IN_TRANSACTION_MS)],
  ]
}

/**
 * At least `on`, whatever the default of server, database and role is: an acknowledged delivery is on disk, and on that of the synchronous
 * standbys (invariant 1). Never less than the default: only `remote_apply` is stricter.
 */
function durableCommits(local: boolean): string {
  const value = "case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end"
  return `select set_config('synchronous_commit', ${value}, ${local})`
}

/** Independent of the server's default: after waiting for a lock, a transaction must see what was committed meanwhile (invariants 2 and 9). */
const ISOLATION = 'isolation level read committed'

/** One query that sets up a new connection. */
export function sessionSettings(schema: string, lockTimeoutMs = LOCK_TIMEOUT_MS): string {
  const all = settings(schema, lockTimeoutMs).map(([name, value]) => `set ${name} = ${value}`)
  return [`set session characteristics as transaction ${ISOLATION}`, ...all, durableCommits(false)].join('; ')
}

/**
 * One query that begins a transaction and repeats the settings. Behind a transaction pooler the session may be another client's.
 */
export function beginStatement(schema: string, kind: 'read' | 'write' | 'no-timeout', lockTimeoutMs = LOCK_TIMEOUT_MS): string {
  const local = settings(schema, lockTimeoutMs).map(([name, value]) => {
    const limit = name === 'statement_timeout' || name === 'lock_timeout'
    return `set local ${name} = ${kind === 'no-timeout' && limit ? '0' : value}`
  })
  // The default may have become stricter since the session began.
  const durable = ['set local synchronous_commit to default', durableCommits(true)]
  return [`begin ${ISOLATION}`, ...(kind === 'read' ? ['set transaction read only'] : []), ...local, ...durable].join('; ')
}
