import assert from 'node:assert/strict'
import { ManualClock } from '../../src/base/clock.ts'
import { type Auth, bearer, type Client, clientCredentials, createClient, ServiceError } from '../../src/client/exports.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { type Account, producerOf } from '../../src/sandbox/service/accounts.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { UnshownInput } from '../../src/sandbox/service/unshown.ts'
import { Contract } from '../sandbox/contract.ts'
import { ask, postForm, type Reply } from '../sandbox/support.ts'
import { brief, passTime } from '../sandbox/writer.ts'

/** A use of the sandbox, and the rows that it shows. */
export interface Case {
  readonly name: string
  readonly rows: readonly string[]
  readonly run: (desk: Desk) => Promise<void>
}

/** Questions per day, which the specification doesn't define. */
export const APPETITE_LIMIT = 3

type Credential = 'own' | 'partner' | 'readOnly'

/** A quiet sandbox on a stepped clock, with clients of all its credentials. */
export class Desk {
  readonly sandbox: Sandbox
  readonly contract: Contract
  readonly producer: string
  readonly client: Client
  readonly #clock: ManualClock

  private constructor(sandbox: Sandbox, contract: Contract, clock: ManualClock) {
    this.sandbox = sandbox
    this.contract = contract
    this.#clock = clock
    this.producer = producerOf(this.account)
    this.client = this.as('own')
  }

  static async open(variants: UnshownInput = {}): Promise<Desk> {
    const contract = new Contract()
    const clock = new ManualClock()
    const accounts = [{ name: 'default' }, { name: 'brokerage-2' }]
    const unshown = { ...variants, appetite_daily_limit: APPETITE_LIMIT }
    const sandbox = await startSandbox({ accounts, unshown, submissions: 0, autoStart: false, clock, observeAnswer: contract.observe })
    return new Desk(sandbox, contract, clock)
  }

  get account(): Account {
    return this.sandbox.account('default')
  }

  key(which: Credential): { readonly clientId: string; readonly clientSecret: string } {
    const key = which === 'own' ? this.account.credentials[0] : this.account[which]
    assert.ok(key)
    return key
  }

  as(which: Credential, scope?: string): Client {
    return this.clientOf(clientCredentials({ ...this.key(which), ...(scope !== undefined && { scope }) }))
  }

  /** A client without retries, so that each refusal is visible. */
  clientOf(auth: Auth, producerEmail: string | null = this.producer): Client {
    const { baseUrl } = this.sandbox
    const clock = { now: () => this.#clock.now(), sleep: () => Promise.resolve() }
    return createClient({ baseUrl, auth, clock, retry: { tries: 1 }, ...(producerEmail !== null && { producerEmail }) })
  }

  async inPortal(email: string): Promise<Client> {
    const { body } = await this.admin('/portal-session', { email })
    return this.clientOf(bearer(body.access_token))
  }

  pass(seconds: number): void {
    passTime(this.#clock, this.sandbox.schedule, seconds * 1000)
  }

  form(path: string, fields: Record<string, string>): Promise<Reply> {
    return postForm(this.sandbox, path, fields)
  }

  exchange(which: Credential, more: Record<string, string> = {}): Promise<Reply> {
    const { clientId, clientSecret } = this.key(which)
    return this.form('/oauth/token', { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, ...more })
  }

  admin(path: string, body: object, method: 'GET' | 'POST' | 'DELETE' = 'POST'): Promise<Reply> {
    return method === 'GET' ? ask(this.sandbox, path) : ask(this.sandbox, path, body, { method })
  }

  async create(insured: string, more: object = {}, client = this.client): Promise<string> {
    const { submission_id } = await client.submissions.create(brief(insured, more))
    assert.ok(submission_id)
    return submission_id
  }
}

export const NOBODYS = '00000000-0000-4000-8000-000000000000'

/** Bytes with the header of a PDF. */
export function pdfOf(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  bytes.set(new TextEncoder().encode('%PDF-1.7').slice(0, size))
  return bytes
}

/** @returns the service's error. @throws AssertionError without an error of this status. */
export async function refused(asked: Promise<unknown>, status: number): Promise<ServiceError>
export async function refused<T extends ServiceError>(
  asked: Promise<unknown>,
  status: number,
  as: abstract new (...given: never[]) => T,
): Promise<T>
export async function refused(
  asked: Promise<unknown>,
  status: number,
  as: abstract new (...given: never[]) => ServiceError = ServiceError,
) {
  const error = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof as, `expected ${as.name}, not ${error === undefined ? 'an answer' : String(error)}`)
  assert.equal(error.status, status)
  return error
}
