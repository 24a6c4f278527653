import { ManualClock } from '../../src/base/clock.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { Contract } from '../sandbox/contract.ts'
import type { Reply } from '../sandbox/writer.ts'

/** One way in which the sandbox is driven, and the rows that it shows. */
export interface Case {
  readonly name: string
  readonly rows: readonly string[]
  readonly run: (desk: Desk) => Promise<void>
}

/** A quiet sandbox on a stepped clock, and a developer before it who knows its credentials. */
export class Desk {
  readonly sandbox: Sandbox
  readonly contract: Contract
  readonly producer: string
  readonly #clock: ManualClock
  #token = ''

  private constructor(sandbox: Sandbox, contract: Contract, clock: ManualClock) {
    this.sandbox = sandbox
    this.contract = contract
    this.#clock = clock
    this.producer = sandbox.account('default').users[1]?.email ?? ''
  }

  /** @returns a desk that is signed in with the first credential. */
  static async open(): Promise<Desk> {
    const contract = new Contract({ areStatusesFixed: true })
    const clock = new ManualClock()
    const sandbox = await startSandbox({ submissions: 0, autoStart: false, clock, observeAnswer: contract.observe })
    const desk = new Desk(sandbox, contract, clock)
    await desk.signIn()
    return desk
  }

  async signIn(as: 'own' | 'partner' | 'readOnly' = 'own', more: Record<string, string> = {}): Promise<Reply> {
    const account = this.sandbox.account('default')
    const credential = as === 'own' ? account.credentials[0] : account[as]
    const own = { client_id: credential?.clientId ?? '', client_secret: credential?.clientSecret ?? '' }
    const reply = await this.form('/oauth/token', { grant_type: 'client_credentials', ...own, ...more })
    if (reply.status === 200) this.#token = reply.body.access_token
    return reply
  }

  signOut(): void {
    this.#token = ''
  }

  pass(seconds: number): void {
    this.sandbox.schedule.advance(this.#clock, seconds * 1000)
  }

  async form(path: string, fields: Record<string, string>): Promise<Reply> {
    return read(await fetch(`${this.sandbox.baseUrl}${path}`, { method: 'POST', body: new URLSearchParams(fields) }))
  }

  async get(path: string): Promise<Reply> {
    return read(await this.raw(path))
  }

  raw(path: string): Promise<Response> {
    return fetch(`${this.sandbox.baseUrl}${path}`, { headers: this.#headers() })
  }

  /** Sends JSON in the producer's name. */
  async send(method: string, path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Reply> {
    const text = JSON.stringify({ producer_email: this.producer, ...body })
    const all = { ...headers, ...this.#headers(), 'content-type': 'application/json' }
    return read(await fetch(`${this.sandbox.baseUrl}${path}`, { method, body: text, headers: all }))
  }

  post(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Reply> {
    return this.send('POST', path, body, headers)
  }

  async upload(path: string, fields: Record<string, string>, size?: number): Promise<Reply> {
    const form = new FormData()
    for (const [name, value] of Object.entries({ producer_email: this.producer, ...fields })) form.append(name, value)
    const bytes = new Uint8Array(size ?? 0)
    bytes.set(new TextEncoder().encode('%PDF-1.7').slice(0, bytes.length))
    if (size !== undefined) form.append('file', new Blob([bytes], { type: 'application/pdf' }), 'file.pdf')
    return read(await fetch(`${this.sandbox.baseUrl}${path}`, { method: 'POST', body: form, headers: this.#headers() }))
  }

  async admin(path: string, body: object): Promise<Reply> {
    return read(await fetch(`${this.sandbox.origin}/_sandbox${path}`, { method: 'POST', body: JSON.stringify(body) }))
  }

  /** @returns the id of a new submission. */
  async create(insured: string, more: object = {}): Promise<string> {
    const { status, body } = await this.post('/broker/submissions', brief(insured, more))
    if (status !== 200) throw new Error(`not created: ${status} ${JSON.stringify(body)}`)
    return body.submission_id
  }

  #headers(): Record<string, string> {
    return this.#token === '' ? {} : { authorization: `Bearer ${this.#token}` }
  }
}

export const brief = (insured: string, more: object = {}) => ({
  applicant: { insured_name: insured },
  narrative: 'Roof repair on one- and two-storey houses',
  lines_of_business: ['gl'],
  primary_state: 'tx',
  ...more,
})

export const NOBODYS = '00000000-0000-4000-8000-000000000000'

async function read(answer: Response): Promise<Reply> {
  return { status: answer.status, headers: answer.headers, body: JSON.parse((await answer.text()) || 'null') }
}
