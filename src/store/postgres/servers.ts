import pg from 'pg'
import { type ServerUrl, splitServers } from '../../base/postgres-url.ts'
import type { SecretText } from '../../base/secret.ts'
import { connectionError, noneWritable, notWritable } from './errors.ts'

/** Time in which a connection must be made, all servers together. */
export const CONNECT_TIMEOUT_MS = 5_000

/**
 * The servers that a URL names, one of which takes writes: a primary and its standbys. The one that was seen to take them last is tried
 * first; each of the others has its turn when it no longer does.
 */
export class PostgresServers {
  readonly all: readonly ServerUrl[]
  #current = 0
  #generation = 0
  readonly #failedAt = new WeakMap<object, ServerUrl>()

  /** @param url valid: see `postgresUrl` in the settings. */
  constructor(url: SecretText) {
    const text = url.reveal()
    this.all = splitServers(text) ?? [{ name: '', url: text }]
  }

  /** The server for the next connection. */
  get current(): ServerUrl {
    return this.all[this.#current] as ServerUrl
  }

  /** Each attempt's share of the time to connect. */
  get attemptTimeoutMs(): number {
    return CONNECT_TIMEOUT_MS / this.all.length
  }

  /** Connections of an earlier generation may lead to a server that is no longer the primary. */
  get generation(): number {
    return this.#generation
  }

  /** After a connection broke, or a server took no writes: no connection made before is used again. */
  distrust(): void {
    this.#generation++
  }

  /** Notes that a connection to `server` could not be made or used; the next server becomes current, unless it already did. */
  failed(server: ServerUrl, error: unknown): void {
    if (typeof error === 'object' && error !== null) this.#failedAt.set(error, server)
    if (this.current === server) this.#current = (this.#current + 1) % this.all.length
  }

  /**
   * Attempts to connect, at each server in turn until one succeeds.
   * @param attempt connects to `current`, and reports a failure to `failed`. Any other failure ends the attempts.
   * @throws TransientError that says of each server why it did not do.
   */
  async inTurn<T>(attempt: () => Promise<T>): Promise<T> {
    const failures: [name: string, reason: Error][] = []
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        const reason = connectionError(error)
        const server = this.#serverOf(error)
        if (!server || this.all.length === 1) throw reason
        failures.push([server.name, reason])
        if (failures.length === this.all.length) throw noneWritable(failures)
      }
    }
  }

  /** @returns a new connection to a server that takes writes, for a purpose that needs no pool. @throws TransientError */
  open(options: pg.ClientConfig): Promise<pg.Client> {
    return this.#openIf(options, async (client, server) => {
      this.requireWritable(server, await inspectSession(client, this.attemptTimeoutMs))
    })
  }

  /** @returns a new connection to any server, a standby too. @throws TransientError */
  openAny(options: pg.ClientConfig): Promise<pg.Client> {
    return this.#openIf(options, async () => {})
  }

  #openIf(options: pg.ClientConfig, check: (client: pg.Client, server: ServerUrl) => Promise<void>): Promise<pg.Client> {
    return this.inTurn(async () => {
      const server = this.current
      const client = new pg.Client({
        connectionString: server.url,
        connectionTimeoutMillis: this.attemptTimeoutMs,
        keepAlive: true,
        ...options,
      })
      // Without a listener a connection that breaks would end the process.
      client.on('error', () => {})
      try {
        await client.connect()
        await check(client, server)
        return client
      } catch (error) {
        this.failed(server, error)
        void client.end().catch(() => {})
        throw error
      }
    })
  }

  /**
   * @throws TransientError when the server is a standby, or read-only while there are others to ask. A single one may be read as long as it
   * is read-only: its refusal of a write is told then.
   */
  requireWritable({ name }: ServerUrl, session: SessionFacts): void {
    if (session.isStandby) throw notWritable(name, 'a standby')
    if (session.isReadOnly && this.all.length > 1) throw notWritable(name, 'read-only')
  }

  /** @param error of a connection, or what the pool made of it. */
  #serverOf(error: unknown): ServerUrl | undefined {
    if (!(error instanceof Error)) return undefined
    return this.#failedAt.get(error) ?? (error.cause instanceof Error ? this.#failedAt.get(error.cause) : undefined)
  }
}

/** What a new connection leads to. */
export interface SessionFacts {
  readonly backend: number
  readonly isStandby: boolean
  readonly isReadOnly: boolean
}

/** Asks a new connection what it leads to. A pooler accepts the login itself, then may make statements wait for ever: hence the limit. */
export async function inspectSession(client: pg.ClientBase, timeoutMs: number): Promise<SessionFacts> {
  const text = `select pg_backend_pid() as pid, pg_is_in_recovery() as standby, current_setting('transaction_read_only') as read_only`
  const { rows } = await client.query<{ pid: unknown; standby: boolean; read_only: string }>(limited(text, timeoutMs))
  const [row] = rows
  return { backend: Number(row?.pid), isStandby: row?.standby === true, isReadOnly: row?.read_only === 'on' }
}

/** A statement with a limit of its own for the answer. */
export function limited(text: string, timeoutMs: number): pg.QueryConfig {
  return { text, query_timeout: timeoutMs } as pg.QueryConfig
}
