import pg from 'pg'

const STATEMENT_TIMEOUT_MS = 30_000
const LOCK_TIMEOUT_MS = 10_000
/** Lock timeout in ms of health reports. Late parts are reported as unread. */
export const SHORT_LOCK_TIMEOUT_MS = 200
const IDLE_IN_TRANSACTION_MS = 30_000
/**
 * Time limit in ms for an answer, longer than the server's statement timeout. Without an answer, the server or the network is down, or a
 * commit waits for a standby.
 */
export const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 5_000

function settings(schema: string, lockTimeoutMs: number): [name: string, value: string][] {
  return [
    ['search_path', pg.escapeIdentifier(schema)],
    ['timezone', "'UTC'"],
    ['datestyle', "'ISO, YMD'"],
    // Compiling takes longer than these statements.
    ['jit', 'off'],
    ['statement_timeout', String(STATEMENT_TIMEOUT_MS)],
    ['lock_timeout', String(lockTimeoutMs)],
    ['idle_in_transaction_session_timeout', String(IDLE_IN_TRANSACTION_MS)],
  ]
}

/** At least `on`: an acknowledged delivery is on disk here and on synchronous standbys. Keeps the stricter `remote_apply`. */
function durableCommits(local: boolean): string {
  const value = "case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end"
  return `select set_config('synchronous_commit', ${value}, ${local})`
}

/** Set explicitly, because after waiting for a lock, a transaction must see earlier commits. */
const ISOLATION = 'isolation level read committed'

export function sessionSettings(schema: string, lockTimeoutMs = LOCK_TIMEOUT_MS): string {
  const all = settings(schema, lockTimeoutMs).map(([name, value]) => `set ${name} = ${value}`)
  return [`set session characteristics as transaction ${ISOLATION}`, ...all, durableCommits(false)].join('; ')
}

/** One query that begins a transaction with its settings. Behind a pooler, other clients share the session. */
export function beginStatement(schema: string, kind: 'read' | 'write' | 'no-timeout', lockTimeoutMs = LOCK_TIMEOUT_MS): string {
  const local = settings(schema, lockTimeoutMs).map(([name, value]) => {
    const limit = name === 'statement_timeout' || name === 'lock_timeout'
    return `set local ${name} = ${kind === 'no-timeout' && limit ? '0' : value}`
  })
  // The server default may have become stricter.
  const durable = ['set local synchronous_commit to default', durableCommits(true)]
  return [`begin ${ISOLATION}`, ...(kind === 'read' ? ['set transaction read only'] : []), ...local, ...durable].join('; ')
}
