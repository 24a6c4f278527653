import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createWriteStream, type WriteStream } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { pluralize } from '../ops/output/text.ts'
import { LoopbackServer } from './loopback.ts'
import type { Screen } from './screen.ts'

/** One request that arrived with a good signature. */
export interface Arrival {
  /** `webhook-id`. */
  readonly id: string
  readonly seq: number
  readonly submissionId: string | null
  /** Whether it was accepted; if not, it must be sent again. */
  readonly taken: boolean
}

/** Every so many requests are refused, or get no answer, at their first attempt, so that retries are seen. */
const REFUSE_EVERY = 9
const HANG_UP_EVERY = 14
const BODY_LIMIT = 1024 * 1024
const OLD_SECONDS = 300
const TELL_MS = 1_000

/** As changes are named: `quotes.insert`. */
const CHANGE_TYPE = /^[a-z_]+\.(insert|update|gone|purged)$/
const anyMessage = z.object({ type: z.string() })
const change = z.object({
  type: z.string(),
  data: z.object({ seq: z.number(), submission_id: z.string().nullable() }),
  brokerage: z.object({ echo: z.boolean() }).optional(),
})

/**
 * A minimal agency-management system: it receives Standard Webhooks on loopback, checks their signatures, and logs what arrives. It refuses
 * the first attempt of some requests, and closes the connection after accepting some others.
 */
export class Ams {
  /** For the settings of the destination. */
  readonly secret = `whsec_${randomBytes(32).toString('base64')}`
  readonly arrivals: Arrival[] = []
  badSignatures = 0
  readonly #server: LoopbackServer
  readonly #log: WriteStream
  readonly #now: () => number
  readonly #seen = new Set<string>()
  readonly #taken = new Set<number>()
  #told = 0
  #tellAt = 0

  /** @param logFile gets a line for each request. @param now milliseconds. */
  constructor(logFile: string, now: () => number) {
    this.#log = createWriteStream(logFile)
    this.#now = now
    this.#server = new LoopbackServer((request, response) => void this.#take(request, response))
  }

  /** @returns the URL of the destination. */
  async listen(): Promise<string> {
    return `${await this.#server.listen()}/changes`
  }

  /** Shows how many changes arrived since it last did, at most once a second unless `atOnce`. */
  tell(screen: Screen, atOnce = false): void {
    const now = this.#now()
    const taken = this.#taken.size
    if (taken === this.#told || (now < this.#tellAt && !atOnce)) return
    screen.event('ams', 'the AMS', `took ${pluralize(taken - this.#told, 'change')}, ${taken} in all`)
    this.#told = taken
    this.#tellAt = now + TELL_MS
  }

  async close(): Promise<void> {
    await this.#server.close()
    await new Promise((resolve) => this.#log.end(resolve))
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await bodyOf(request)
      const id = String(request.headers['webhook-id'])
      if (!this.#isSigned(request, id, body)) {
        this.badSignatures += 1
        return this.#answer(response, 401, 'bad signature')
      }
      const message: unknown = JSON.parse(body)
      // What is no change, such as a test of the connection, is taken and left alone.
      const { type: given } = anyMessage.parse(message)
      if (!CHANGE_TYPE.test(given)) return this.#answer(response, 200, `${given}, no change`)
      const { type, data, brokerage } = change.parse(message)
      const isNew = !this.#seen.has(id)
      this.#seen.add(id)
      const refused = isNew && this.#seen.size % REFUSE_EVERY === 0
      this.arrivals.push({ id, seq: data.seq, submissionId: data.submission_id, taken: !refused })
      if (!refused) this.#taken.add(data.seq)
      const written = brokerage?.echo ? ', which the brokerage wrote itself' : ''
      const line = `${type}, change ${data.seq} of submission ${data.submission_id ?? '-'}${written}, ${isNew ? 'new' : 'again'}, id ${id}`
      if (refused) return this.#answer(response, 503, line)
      if (!isNew || this.#seen.size % HANG_UP_EVERY !== 0) return this.#answer(response, 200, line)
      this.#write('gone', `${line} (taken, and hung up without an answer)`)
      response.destroy()
    } catch {
      this.#answer(response, 400, 'not understood')
    }
  }

  /** Written by hand from the Standard Webhooks specification: it must not share code with the sender. */
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
