import pg from 'pg'
import { messageOf } from '../../base/errors.ts'
import { type ServerUrl, splitServers } from '../../base/postgres-url.ts'
import type { SecretText } from '../../base/secret.ts'
import { connectionError } from './errors.ts'

/** Time limit in ms for connecting. Attempts to connect to several servers in turn share the limit. */
export const CONNECT_TIMEOUT_MS = 5_000

/** The current role of one server in the URL. */
export interface ServerRole {
  readonly name: string
  readonly role: 'primary' | 'standby' | 'read-only' | 'unreachable'
  readonly timeline: number
  readonly problem: string | null
}

/**
 * @returns the servers that a URL lists.
 * @param url a valid URL; see `postgresUrl` in the settings.
 */
export function serversOf(url: SecretText): readonly ServerUrl[] {
  const text = url.reveal()
  return splitServers(text) ?? [{ name: '', url: text }]
}

/** Asks each server in the URL for its role. Never rejects. */
export function serverRoles(url: SecretText): Promise<ServerRole[]> {
  return Promise.all(serversOf(url).map((server) => roleOf(server, CONNECT_TIMEOUT_MS)))
}

/** Asks a server for its role. Never rejects. */
export async function roleOf({ name, url }: ServerUrl, timeoutMs: number): Promise<ServerRole> {
  const client = new pg.Client({
    application_name: 'submission-mirror probe',
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
  })
  // Without an error listener, a connection that breaks would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    const { isStandby, isReadOnly } = await inspectSession(client, timeoutMs)
    const role = isStandby ? 'standby' : isReadOnly ? 'read-only' : 'primary'
    return { name, role, timeline: role === 'primary' ? await readTimeline(client, timeoutMs) : 0, problem: null }
  } catch (error) {
    return { name, role: 'unreachable', timeline: 0, problem: messageOf(connectionError(error)) }
  } finally {
    void client.end().catch(() => {})
  }
}

/** @returns the primary with the highest timeline; the first if several have the same timeline. */
export function newestOf(primaries: readonly ServerRole[]): ServerRole | undefined {
  return primaries.toSorted((a, b) => b.timeline - a.timeline)[0]
}

/** @returns a warning text: several servers are primary. */
export function severalPrimaries(primaries: readonly ServerRole[]): string {
  const all = primaries.map(({ name, timeline }) => `${name} (timeline ${timeline})`).join(', ')
  const newest = newestOf(primaries)?.name
  return `${primaries.length} servers of DATABASE_URL are primary: ${all}. Stop all but ${newest}, which has the highest timeline and is used`
}

/** The server process (backend) and the role behind a connection. */
export interface SessionFacts {
  readonly backend: number
  readonly isStandby: boolean
  readonly isReadOnly: boolean
}

/**
 * Reads the server process and the role behind a connection. Needs a time limit, because a pooler may accept the login
 * but never run a statement.
 */
export async function inspectSession(client: pg.ClientBase, timeoutMs: number): Promise<SessionFacts> {
  const text = `select pg_backend_pid() as pid, pg_is_in_recovery() as standby, current_setting('transaction_read_only') as read_only`
  const { rows } = await client.query<{ pid: unknown; standby: boolean; read_only: string }>(limited(text, timeoutMs))
  const [row] = rows
  return { backend: Number(row?.pid), isStandby: row?.standby === true, isReadOnly: row?.read_only === 'on' }
}

/**
 * Reads the timeline of a primary: a number that each promotion of a standby increases.
 * @returns 0 if the timeline can't be read.
 */
export async function readTimeline(client: pg.ClientBase, timeoutMs: number): Promise<number> {
  const text = 'select left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) as timeline'
  const answer = await client.query<{ timeline: string }>(limited(text, timeoutMs)).catch(() => null)
  return Number.parseInt(answer?.rows[0]?.timeline ?? '0', 16)
}

export function limited(text: string, timeoutMs: number): pg.QueryConfig {
  return { text, query_timeout: timeoutMs } as pg.QueryConfig
}
