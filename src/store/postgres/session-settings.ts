import pg from 'pg'

const STATEMENT_TIMEOUT_MS = 30_000
const LOCK_TIMEOUT_MS = 10_000
/**
 * Lock timeout in ms for reading health reports. If a query waits longer for a lock, the report continues, and lists
 * the query's part as unread.
 */
export const SHORT_LOCK_TIMEOUT_MS = 200
const IDLE_IN_TRANSACTION_MS = 30_000
/**
 * Time limit in ms for the server's answer to a statement. The server itself stops statements earlier. No answer
 * therefore means that the server or the network is down, or that a commit waits for a standby.
 */
export const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5_000

function settings(schema: string, lockTimeoutMs: number): [name: string, value: string][] {
  return [
    ['search_path', pg.escapeIdentifier(schema)],
    ['timezone', "'UTC'"],
    ['datestyle', "'ISO, YMD'"],
    // Just-in-time compilation would take longer than it saves.
    ['jit', 'off'],
    ['statement_timeout', String(STATEMENT_TIMEOUT_MS)],
    ['lock_timeout', String(lockTimeoutMs)],
    ['idle_in_transaction_session_timeout', String(IDLE_IN_TRANSACTION_MS)],
  ]
}

/**
 * SQL that sets `synchronous_commit` to `on`, or keeps `remote_apply`, which is stricter. A committed delivery is then
 * on the disks of this server and of its synchronous standbys.
 * @param local true: only for the current transaction.
 */
function durableCommits(local: boolean): string {
  const value = "case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end"
  return `select set_config('synchronous_commit', ${value}, ${local})`
}

/**
 * Set explicitly, because the server's default may differ. After waiting for a lock, a statement must see what other
 * transactions committed.
 */
const ISOLATION = 'isolation level read committed'

export function sessionSettings(schema: string, lockTimeoutMs = LOCK_TIMEOUT_MS): string {
  const all = settings(schema, lockTimeoutMs).map(([name, value]) => `set ${name} = ${value}`)
  return [`set session characteristics as transaction ${ISOLATION}`, ...all, durableCommits(false)].join('; ')
}

/**
 * @returns a query that begins a transaction and sets its schema, time limits, and other settings. Behind a pooler,
 * other clients share the session and may have changed the session's settings.
 */
export function beginStatement(schema: string, kind: 'read' | 'write' | 'no-timeout', lockTimeoutMs = LOCK_TIMEOUT_MS): string {
  const local = settings(schema, lockTimeoutMs).map(([name, value]) => {
    const limit = name === 'statement_timeout' || name === 'lock_timeout'
    return `set local ${name} = ${kind === 'no-timeout' && limit ? '0' : value}`
  })
  // Use the server's current default. The default may have become stricter since the session began.
  const durable = ['set local synchronous_commit to default', durableCommits(true)]
  return [`begin ${ISOLATION}`, ...(kind === 'read' ? ['set transaction read only'] : []), ...local, ...durable].join('; ')
}
