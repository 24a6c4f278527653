import { ManualClock } from '../../src/base/clock.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { sandboxFor } from './support.ts'

/** An answer of the API, read as JSON. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  readonly body: any
}

/** Writes to the sandbox's API, and reads it, as one credential. */
export class Writer {
  readonly producer: string
  readonly #sandbox: Sandbox
  readonly #account: string
  #token = ''

  constructor(sandbox: Sandbox, account = 'default') {
    this.#sandbox = sandbox
    this.#account = account
    this.producer = sandbox.account(account).users[1]?.email ?? ''
  }

  async login(as: 'own' | 'partner' | 'readOnly' = 'own'): Promise<this> {
    const account = this.#sandbox.account(this.#account)
    const credential = as === 'own' ? account.credentials[0] : account[as]
    return this.loginWith(credential?.clientId ?? '', credential?.clientSecret ?? '')
  }

  async loginWith(client_id: string, client_secret: string): Promise<this> {
    const form = { grant_type: 'client_credentials', client_id, client_secret }
    const answer = await fetch(`${this.#sandbox.baseUrl}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
    this.#token = ((await answer.json()) as { access_token: string }).access_token
    return this
  }

  /** Signs in to the portal, as the admin or the producer of the brokerage. */
  signIn(as: 'admin' | 'producer'): this {
    const account = this.#sandbox.account(this.#account)
    const user = account.users[as === 'admin' ? 0 : 1]
    if (!user) throw new Error(`the brokerage has no ${as}`)
    this.#token = this.#sandbox.access.openPortalSession(account, user)
    return this
  }

  get headers(): { authorization: string } {
    return { authorization: `Bearer ${this.#token}` }
  }

  async get(path: string): Promise<Reply> {
    return this.#read(await this.raw(path))
  }

  raw(path: string): Promise<Response> {
    return fetch(`${this.#sandbox.baseUrl}${path}`, { headers: this.headers })
  }

  async send(method: string, path: string, body: object, headers: Record<string, string> = {}): Promise<Reply> {
    const init = { method, body: JSON.stringify(body), headers: { ...headers, ...this.headers } }
    return this.#read(await fetch(`${this.#sandbox.baseUrl}${path}`, init))
  }

  /** Posts JSON in the producer's name. */
  post(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Reply> {
    return this.send('POST', path, { producer_email: this.producer, ...body }, headers)
  }

  async upload(path: string, fields: Record<string, string>, file?: { name: string; bytes: Uint8Array<ArrayBuffer> }): Promise<Reply> {
    const form = new FormData()
    for (const [name, value] of Object.entries({ producer_email: this.producer, ...fields })) form.append(name, value)
    if (file) form.append('file', new Blob([file.bytes], { type: 'application/pdf' }), file.name)
    const init = { method: 'POST', body: form, headers: this.headers }
    return this.#read(await fetch(`${this.#sandbox.baseUrl}${path}`, init))
  }

  async admin(path: string, body: object): Promise<Reply> {
    return this.#read(await fetch(`${this.#sandbox.origin}/_sandbox${path}`, { method: 'POST', body: JSON.stringify(body) }))
  }

  async #read(answer: Response): Promise<Reply> {
    return { status: answer.status, headers: answer.headers, body: await answer.json() }
  }
}

/** A quiet world on a stepped clock, and one who may write to it. */
export async function world(options: SandboxOptions = {}) {
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock, ...options })
  const writer = await new Writer(sandbox).login()
  return { sandbox, writer, clock, pass: (seconds: number) => sandbox.schedule.advance(clock, seconds * 1000) }
}

export const brief = (insured: string, more: object = {}) => ({
  applicant: { insured_name: insured },
  narrative: 'Roof repair on one- and two-storey houses',
  lines_of_business: ['gl'],
  primary_state: 'tx',
  ...more,
})

/** Creates a submission. @returns its id. */
export async function create(writer: Writer, insured: string, more: object = {}): Promise<string> {
  const { status, body } = await writer.post('/broker/submissions', brief(insured, more))
  if (status !== 200) throw new Error(`not created: ${status} ${JSON.stringify(body)}`)
  return body.submission_id
}
