import type { Clock } from '../../../base/clock.ts'
import { messageOf } from '../../../base/errors.ts'
import { silentObserver } from '../../../base/observer.ts'
import { type AccountConfig, type Config, proxySettings } from '../../../config/config.ts'
import { type HttpAnswer, parseJson, shortDetail } from '../../../upstream/http/answer.ts'
import { Channel } from '../../../upstream/http/channel.ts'
import { Http, type Parts } from '../../../upstream/http/http.ts'
import { readToken } from '../../../upstream/wire/answers.ts'
import { NotTold } from './verdict.ts'

const TIMEOUTS = { connectMs: 5_000, headersMs: 20_000, overallMs: 30_000 }
const BODY_LIMIT_BYTES = 16 * 1024 * 1024
const FILE_START = 5

export interface Answer {
  readonly status: number
  /** undefined when the body is not JSON. */
  readonly json: unknown
}

/** How a file begins. */
export interface FileAnswer {
  readonly status: number
  readonly contentType: string
  readonly start: string
}

/** The service cannot be reached, or takes no credential: then no row can be told. */
export class CannotCompare extends Error {}

/** The real service as the comparison sees it: it sends GET requests, and POST to the token endpoint, and nothing else. */
export class ComparedService {
  readonly #channel: Channel
  readonly #account: AccountConfig
  readonly #signal: AbortSignal
  readonly #answers = new Map<string, Promise<Answer>>()
  #token = ''
  #granted: unknown
  #credential: AccountConfig['clientCredentials'][number] | null = null

  constructor(config: Config, account: AccountConfig, clock: Clock, signal: AbortSignal) {
    const http = new Http({ baseUrl: account.baseUrl, proxy: proxySettings(config), timeouts: TIMEOUTS, bodyLimitBytes: BODY_LIMIT_BYTES })
    this.#channel = new Channel(account.name, http, config.upstream.rps, clock, silentObserver)
    this.#account = account
    this.#signal = signal
  }

  /** The answer of the token endpoint that gave the token. */
  get granted(): unknown {
    return this.#granted
  }

  /** The credential that was taken. */
  get credential(): AccountConfig['clientCredentials'][number] | null {
    return this.#credential
  }

  /** Gets a token by the first credential that is taken. @throws CannotCompare with what to do. */
  async signIn(): Promise<void> {
    const { name, baseUrl, clientCredentials, scope } = this.#account
    let refusal = 'there is none'
    for (const credential of clientCredentials) {
      const form = { grant_type: 'client_credentials', client_id: credential.id, client_secret: credential.secret.reveal(), scope }
      const { answer, detail } = await this.#exchange(form).catch((error: unknown) => {
        this.#signal.throwIfAborted()
        const advice = 'check that this is its address, and that it can be reached from here (proxy, DNS, firewall)'
        throw new CannotCompare(`the service does not answer at ${baseUrl} (${messageOf(error)}); ${advice}`)
      })
      const token = answer.status < 300 ? readToken(answer.json) : null
      if (token !== null) {
        this.#token = token.token
        this.#granted = answer.json
        this.#credential = credential
        return
      }
      refusal = answer.status < 300 ? 'it answers without a token' : `it answers ${answer.status}${detail === '' ? '' : ` (${detail})`}`
    }
    const advice = 'compare id, secret, scope and base URL with the portal'
    throw new CannotCompare(`the service gives no token for the credentials of account ${name}: ${refusal}; ${advice}`)
  }

  /** Sends a form to the token endpoint. @throws NotTold when there is no answer. */
  async exchange(form: Readonly<Record<string, string>>): Promise<Answer> {
    return (await this.#exchange(form).catch((error: unknown) => this.#notTold('the token endpoint', error))).answer
  }

  /** Reads a path, once however often it is asked for. @throws NotTold when there is no answer, or one that tells nothing (429, 5xx). */
  async get(path: string, query: Readonly<Record<string, string>> = {}, withToken = true): Promise<Answer> {
    const key = JSON.stringify([path, query, withToken])
    const asked = this.#answers.get(key) ?? this.#get(path, query, withToken)
    this.#answers.set(key, asked)
    return await asked
  }

  /** Reads how a file begins. @throws NotTold when there is no answer. */
  async file(path: string): Promise<FileAnswer> {
    let seen: FileAnswer | null = null
    const sent = this.#send('probe', {
      path,
      headers: { accept: '*/*', ...this.#authorization(true) },
      take: async ({ status, contentType, body }) => {
        let start = ''
        for await (const chunk of body) {
          start += Buffer.from(chunk).toString('latin1')
          if (start.length >= FILE_START) break
        }
        seen = { status, contentType, start: start.slice(0, FILE_START) }
      },
    })
    const { status } = await sent.catch((error: unknown) => this.#notTold(path, error))
    // The compiler does not see that `take` ran.
    return (seen as FileAnswer | null) ?? { status, contentType: '', start: '' }
  }

  async close(): Promise<void> {
    await this.#channel.close()
  }

  async #get(path: string, query: Readonly<Record<string, string>>, withToken: boolean): Promise<Answer> {
    const parts = { path, query: Object.entries(query), headers: this.#authorization(withToken) }
    const answer = await this.#send('probe', parts).catch((error: unknown) => this.#notTold(path, error))
    if (answer.status === 429 || answer.status >= 500) throw new NotTold(`${path} was answered ${answer.status}; try again later`)
    return { status: answer.status, json: parseJson(answer.body) }
  }

  async #exchange(form: Readonly<Record<string, string>>): Promise<{ answer: Answer; detail: string }> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const { status, body } = await this.#send('token', { headers, body: String(new URLSearchParams(form)) })
    return { answer: { status, json: parseJson(body) }, detail: shortDetail(body) }
  }

  /** A running `serve` uses the account's rate too. */
  async #send(operation: 'token' | 'probe', parts: Parts): Promise<HttpAnswer> {
    const call = { operation, submissionId: null, withCursor: false }
    return await this.#channel.answer(call, parts, { priority: 'background', signal: this.#signal })
  }

  #authorization(withToken: boolean): Record<string, string> {
    return withToken ? { authorization: `Bearer ${this.#token}` } : {}
  }

  #notTold(what: string, error: unknown): never {
    this.#signal.throwIfAborted()
    throw new NotTold(`${what}: ${messageOf(error)}`)
  }
}
