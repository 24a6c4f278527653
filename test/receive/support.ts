import { randomBytes, randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { sql } from 'kysely'
import { Webhook } from 'svix'
import { request } from 'undici'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import { Secret } from '../../src/base/secret.ts'
import type { AccountConfig } from '../../src/config/config.ts'
import type { Appender } from '../../src/receive/group-commit.ts'
import { type RunningReceiver, startReceiver } from '../../src/receive/server.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { RejectedStore } from '../../src/store/inbox/rejected.ts'
import { keepRejectedConnections } from '../../src/store/inbox/rejected-connections.ts'
import type { Columns } from '../../src/store/schema/tables.ts'
import { Counts } from '../tools/counts.ts'

export const BODY_LIMIT = 64 * 1024

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

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

interface SignOptions {
  readonly id?: string
  readonly atMs?: number
  readonly names?: 'svix' | 'webhook'
}

export function sign(secret: string, body: string | Buffer, options: SignOptions = {}): Record<string, string> {
  const { id = `msg_${randomUUID()}`, atMs = Date.now(), names = 'svix' } = options
  const at = new Date(Math.floor(atMs / 1000) * 1000)
  return {
    [`${names}-id`]: id,
    [`${names}-timestamp`]: String(at.getTime() / 1000),
    [`${names}-signature`]: new Webhook(secret).sign(id, at, body),
  }
}

export interface TestReceiver {
  readonly running: RunningReceiver
  readonly origin: string
  readonly port: number
  readonly counts: Counts
  readonly rejected: RejectedStore
  readonly lines: readonly Record<string, unknown>[]
}

interface TestReceiverOptions {
  readonly db: Db
  readonly accounts: readonly AccountConfig[]
  readonly appender?: Appender
  readonly clock?: Clock
  readonly bodyLimitBytes?: number
  readonly trustProxy?: boolean | string
}

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
    keepRejections: (rejected) => keepRejectedConnections(options.db, rejected),
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

export function deliver(url: string, secret: string, body: string | Buffer, options: SignOptions = {}): Promise<Answered> {
  return post(url, body, sign(secret, body, options))
}

export interface RawConnection {
  readonly socket: Socket
  write(text: string | Buffer): void
  /** Resolves with everything received once it contains `text`, or when the connection has ended. */
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
  // Or closed: a server may refuse a connection immediately.
  await new Promise<void>((resolve) => socket.once('connect', resolve).once('close', resolve))
  return {
    socket,
    write: (text) => void socket.write(text),
    hears: (text) => until(() => over || heard.includes(text)),
    closed: () => until(() => over),
  }
}

export function head(path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

/** A whole delivery as text, with its body, for a raw connection. @param more headers. */
export function signed(secret: string, body: string, path = '/webhooks', more: Record<string, string> = {}): string {
  return `${head(path, { ...sign(secret, body), 'content-length': String(body.length), ...more })}${body}`
}

/** A receiver's answer to text on a separate connection, up to the end of the header. */
export async function answerTo(port: number, ...texts: string[]): Promise<string> {
  const connection = await openRaw(port)
  for (const text of texts) connection.write(text)
  const answer = await connection.hears('\r\n\r\n')
  connection.socket.destroy()
  return answer
}

interface InboxRow {
  readonly account: string
  readonly delivery_id: string
  readonly state: string
  readonly secret: number
  readonly headers: string
  readonly body: Buffer | null
}

export function inboxOf(db: Db): Promise<InboxRow[]> {
  return db.read.all(sql<Columns<'sync_inbox', 'account' | 'delivery_id' | 'state' | 'secret' | 'headers' | 'body'>>`
    select account, delivery_id, state, secret, headers, body from sync_inbox order by inbox_id`)
}
