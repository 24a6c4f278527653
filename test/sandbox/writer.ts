import { ManualClock } from '../../src/base/clock.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Schedule } from '../../src/sandbox/service/schedule.ts'
import { ask, postForm, type Reply, replyOf, sandboxFor } from './support.ts'

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
    this.#token = (await postForm(this.#sandbox, '/oauth/token', form)).body.access_token
    return this
  }

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

  get(path: string): Promise<Reply> {
    return replyOf(this.raw(path))
  }

  raw(path: string): Promise<Response> {
    return fetch(`${this.#sandbox.baseUrl}${path}`, { headers: this.headers })
  }

  send(method: string, path: string, body: object, headers: Record<string, string> = {}): Promise<Reply> {
    const init = { method, body: JSON.stringify(body), headers: { ...headers, ...this.headers } }
    return replyOf(fetch(`${this.#sandbox.baseUrl}${path}`, init))
  }

  /** Posts JSON as the producer. */
  post(path: string, body: object = {}, headers: Record<string, string> = {}): Promise<Reply> {
    return this.send('POST', path, { producer_email: this.producer, ...body }, headers)
  }

  upload(path: string, fields: Record<string, string>, file?: { name: string; bytes: Uint8Array<ArrayBuffer> }): Promise<Reply> {
    const form = new FormData()
    for (const [name, value] of Object.entries({ producer_email: this.producer, ...fields })) form.append(name, value)
    if (file) form.append('file', new Blob([file.bytes], { type: 'application/pdf' }), file.name)
    const init = { method: 'POST', body: form, headers: this.headers }
    return replyOf(fetch(`${this.#sandbox.baseUrl}${path}`, init))
  }

  admin(path: string, body: object): Promise<Reply> {
    return ask(this.#sandbox, path, body)
  }
}

/** Advances the clock from entry to entry of a schedule. */
export function passTime(clock: ManualClock, schedule: Schedule, ms: number): void {
  const endMs = clock.now() + ms
  for (let next = schedule.pending()[0]; next && next.atMs <= endMs; next = schedule.pending()[0])
    clock.advance(Math.max(0, next.atMs - clock.now()))
  clock.advance(endMs - clock.now())
}

/** A quiet world on a stepped clock, and a writer. */
export async function world(options: SandboxOptions = {}) {
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock, ...options })
  const writer = await new Writer(sandbox).login()
  return { sandbox, writer, clock, pass: (seconds: number) => passTime(clock, sandbox.schedule, seconds * 1000) }
}

/** The same with a matched submission, or one of this age. */
export async function matched(seconds = 300, more: object = {}) {
  const made = await world()
  const id = await create(made.writer, 'Harrow Roofing LLC', more)
  made.pass(seconds)
  const view = async () => (await made.writer.get(`/broker/submissions/${id}/requirements`)).body
  return { ...made, id, view }
}

export const brief = (insured: string, more: object = {}) => ({
  applicant: { insured_name: insured },
  narrative: 'Roof repair on one- and two-storey houses',
  lines_of_business: ['gl'],
  primary_state: 'tx',
  ...more,
})

export async function create(writer: Writer, insured: string, more: object = {}): Promise<string> {
  const { status, body } = await writer.post('/broker/submissions', brief(insured, more))
  if (status !== 200) throw new Error(`not created: ${status} ${JSON.stringify(body)}`)
  return body.submission_id
}
