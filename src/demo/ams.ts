import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createWriteStream, type WriteStream } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { pluralize } from '../ops/output/text.ts'
import { LoopbackServer } from './loopback.ts'
import type { Screen } from './screen.ts'

/** A request to the AMS whose signature is valid. */
export interface Arrival {
  /** Value of the header `webhook-id`. */
  readonly id: string
  readonly seq: number
  readonly submissionId: string | null
  /** Whether the AMS accepted the change. If not, the sender must retry the change. */
  readonly isAccepted: boolean
}

/**
 * The demo shows retries. For every 9th new id, the AMS answers 503. For every 14th new id, it accepts the change, but
 * closes the connection without an answer.
 */
const REFUSE_EVERY = 9
const HANG_UP_EVERY = 14
const BODY_LIMIT = 1024 * 1024
const OLD_SECONDS = 300
const REPORT_MS = 1_000

const CHANGE_TYPE = /^[a-z_]+\.(insert|update|gone|purged)$/
const anyMessage = z.object({ type: z.string() })
const change = z.object({
  type: z.string(),
  data: z.object({ seq: z.number(), submission_id: z.string().nullable() }),
  brokerage: z.object({ echo: z.boolean() }).optional(),
})

/** A minimal AMS on loopback. Receives changes as Standard Webhooks, checks their signatures, and logs each request. */
export class Ams {
  readonly secret = `whsec_${randomBytes(32).toString('base64')}`
  readonly arrivals: Arrival[] = []
  badSignatures = 0
  readonly #server: LoopbackServer
  readonly #log: WriteStream
  readonly #now: () => number
  readonly #seen = new Set<string>()
  readonly #accepted = new Set<number>()
  #reported = 0
  #reportAt = 0

  /**
   * @param logFile file to which each request is written as a line.
   * @param now returns the time in ms since the epoch.
   */
  constructor(logFile: string, now: () => number) {
    this.#log = createWriteStream(logFile)
    this.#now = now
    this.#server = new LoopbackServer((request, response) => void this.#receive(request, response))
  }

  /** @returns the URL for the settings of the destination. */
  async listen(): Promise<string> {
    return `${await this.#server.listen()}/changes`
  }

  /**
   * Prints how many changes were accepted since the last report. Prints at most once a second, unless `isLast` is true.
   */
  report(screen: Screen, isLast = false): void {
    const now = this.#now()
    const accepted = this.#accepted.size
    if (accepted === this.#reported || (now < this.#reportAt && !isLast)) return
    screen.event('ams', 'AMS', `received ${pluralize(accepted - this.#reported, 'change')}, ${accepted} in total`)
    this.#reported = accepted
    this.#reportAt = now + REPORT_MS
  }

  async close(): Promise<void> {
    await this.#server.close()
    await new Promise((resolve) => this.#log.end(resolve))
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await bodyOf(request)
      const id = String(request.headers['webhook-id'])
      if (!this.#isSigned(request, id, body)) {
        this.badSignatures += 1
        return this.#answer(response, 401, 'bad signature')
      }
      const message: unknown = JSON.parse(body)
      // Accept messages without a change, such as a connection test, but don't count them.
      const { type: given } = anyMessage.parse(message)
      if (!CHANGE_TYPE.test(given)) return this.#answer(response, 200, `${given}, not a change`)
      const { type, data, brokerage } = change.parse(message)
      const isNew = !this.#seen.has(id)
      this.#seen.add(id)
      const refused = isNew && this.#seen.size % REFUSE_EVERY === 0
      this.arrivals.push({ id, seq: data.seq, submissionId: data.submission_id, isAccepted: !refused })
      if (!refused) this.#accepted.add(data.seq)
      const written = brokerage?.echo ? ', written by the brokerage itself' : ''
      const line = `${type}, change ${data.seq} of submission ${data.submission_id ?? '-'}${written}, ${isNew ? 'new' : 'again'}, id ${id}`
      if (refused) return this.#answer(response, 503, line)
      if (!isNew || this.#seen.size % HANG_UP_EVERY !== 0) return this.#answer(response, 200, line)
      this.#write('gone', `${line} (accepted, but the connection was closed without an answer)`)
      response.destroy()
    } catch {
      this.#answer(response, 400, 'malformed')
    }
  }

  /**
   * Checks a signature as the Standard Webhooks specification says. Shares no code with the sender. Otherwise, an error
   * in shared code would go unnoticed.
   */
  #isSigned(request: IncomingMessage, id: string, body: string): boolean {
    const timestamp = String(request.headers['webhook-timestamp'])
    if (!(Math.abs(this.#now() / 1000 - Number(timestamp)) <= OLD_SECONDS)) return false
    const key = Buffer.from(this.secret.slice('whsec_'.length), 'base64')
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
    return String(request.headers['webhook-signature'])
      .split(' ')
      .map((signature) => Buffer.from(signature.replace(/^v1,/, ''), 'base64'))
      .some((given) => given.length === expected.length && timingSafeEqual(given, expected))
  }

  #answer(response: ServerResponse, status: number, line: string): void {
    this.#write(String(status), line)
    response.writeHead(status).end()
  }

  #write(answered: string, line: string): void {
    this.#log.write(`${new Date(this.#now()).toISOString()}  ${answered.padEnd(4)}  ${line}\n`)
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_LIMIT) throw new Error('too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
