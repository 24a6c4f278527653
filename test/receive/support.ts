import { randomBytes, randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { Webhook } from 'svix'
import { request } from 'undici'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import type { Labels, Observer } from '../../src/base/observer.ts'
import { Secret } from '../../src/base/secret.ts'
import type { AccountConfig } from '../../src/config/config.ts'
import type { Appender } from '../../src/receive/group-commit.ts'
import { type RunningReceiver, startReceiver } from '../../src/receive/server.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { keepRefusedConnections } from '../../src/store/inbox/refused-connections.ts'
import { RejectedStore } from '../../src/store/inbox/rejected.ts'

export const BODY_LIMIT = 64 * 1024

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** An account that receives; the other settings are not looked at. */
export function account(name: string, secrets: readonly string[], isDefault = false): AccountConfig {
  return {
    name,
    default: isDefault,
    baseUrl: 'http://127.0.0.1/api/v1',
    clientCredentials: [{ id: 'bac_test', secret: new Secret('bas_test') }],
    scope: 'broker_mcp',
    webhookSecrets: secrets.map((secret) => new Secret(secret)),
    discovery: null,
    extraReads: [],
  }
}

export interface SignOptions {
  readonly id?: string
  readonly atMs?: number
  readonly names?: 'svix' | 'webhook'
}

/** The headers of a signed delivery. */
export function sign(secret: string, body: string | Buffer, options: SignOptions = {}): Record<string, string> {
  const { id = `msg_${randomUUID()}`, atMs = Date.now(), names = 'svix' } = options
  const at = new Date(Math.floor(atMs / 1000) * 1000)
  return {
    [`${names}-id`]: id,
    [`${names}-timestamp`]: String(at.getTime() / 1000),
    [`${names}-signature`]: new Webhook(secret).sign(id, at, body),
  }
}

/** Remembers everything that was observed. */
export class Counts implements Observer {
  readonly #values = new Map<string, number>()

  count(name: string, labels: Labels = {}, by = 1): void {
    const key = this.#key(name, labels)
    this.#values.set(key, (this.#values.get(key) ?? 0) + by)
  }

  time(name: string, _seconds: number, labels: Labels = {}): void {
    this.count(name, labels)
  }

  set(name: string, value: number, labels: Labels = {}): void {
    this.#values.set(this.#key(name, labels), value)
  }

  of(name: string, labels: Labels = {}): number {
    return this.#values.get(this.#key(name, labels)) ?? 0
  }

  #key(name: string, labels: Labels): string {
    return `${name} ${JSON.stringify(Object.entries(labels).sort())}`
  }
}

export interface TestReceiver {
  readonly running: RunningReceiver
  readonly origin: string
  readonly port: number
  readonly counts: Counts
  readonly rejected: RejectedStore
  /** The lines of the log, parsed. */
  readonly lines: readonly Record<string, unknown>[]
}

export interface TestReceiverOptions {
  readonly db: Db
  readonly accounts: readonly AccountConfig[]
  readonly appender?: Appender
  readonly clock?: Clock
  readonly bodyLimitBytes?: number
  readonly trustProxy?: boolean | string
}

/** A receiver on a free port of loopback. */
export async function startTestReceiver(options: TestReceiverOptions): Promise<TestReceiver> {
  const counts = new Counts()
  const { log, lines } = recordingLog()
  const rejected = new RejectedStore(options.db, log)
  const running = await startReceiver({
    config: { host: '127.0.0.1', port: 0, bodyLimit: options.bodyLimitBytes ?? BODY_LIMIT, trustProxy: options.trustProxy ?? false },
    accounts: options.accounts,
    appender: options.appender ?? new InboxAppender(options.db),
    rejectedStore: rejected,
    lastUses: { note() {} },
    keepRefused: (refused) => keepRefusedConnections(options.db, refused),
    clock: options.clock ?? systemClock,
    log,
    observer: counts,
  })
  const { port } = running.address
  return { running, origin: `http://127.0.0.1:${port}`, port, counts, rejected, lines }
}

export function recordingLog(): { log: Log; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) }
  return { log: createLog({ level: 'info', pretty: false, secrets: [], destination }), lines }
}

export interface Answered {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

export async function post(url: string, body: string | Buffer, headers: Record<string, string>): Promise<Answered> {
  const answer = await request(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
  const retryAfter = answer.headers['retry-after']
  return { status: answer.statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined, text: await answer.body.text() }
}

/** Signs and posts. */
export function deliver(url: string, secret: string, body: string | Buffer, options: SignOptions = {}): Promise<Answered> {
  return post(url, body, sign(secret, body, options))
}

/** A connection that a test writes bytes to by itself. */
export interface RawConnection {
  readonly socket: Socket
  write(text: string | Buffer): void
  /** Resolves with all that has come once it contains `text`, or when the connection has ended. */
  hears(text: string): Promise<string>
  closed(): Promise<string>
}

/** @param localAddress the address that it comes from: any of 127.0.0.0/8. */
export async function openRaw(port: number, localAddress = '127.0.0.1'): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  let heard = ''
  let over = false
  let changed = () => {}
  socket.setEncoding('latin1').on('data', (text: string) => {
    heard += text
    changed()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    over = true
    changed()
  })
  const until = async (done: () => boolean): Promise<string> => {
    while (!done()) {
      await new Promise<void>((resolve) => {
        changed = resolve
      })
    }
    return heard
  }
  // Or closed: a server may turn a connection away at once.
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve))
  return {
    socket,
    write: (text) => void socket.write(text),
    hears: (text) => until(() => over || heard.includes(text)),
    closed: () => until(() => over),
  }
}

/** The head of a POST as text, to be written to a raw connection. */
export function head(path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

export interface InboxRow {
  readonly account: string
  readonly delivery_id: string
  readonly state: string
  readonly secret: number
  readonly headers: string
  readonly body: Buffer | null
}

export function inboxOf(db: Db): Promise<InboxRow[]> {
  return db.read.sql
    .selectFrom('sync_inbox')
    .select(['account', 'delivery_id', 'state', 'secret', 'headers', 'body'])
    .orderBy('inbox_id')
    .execute()
}
