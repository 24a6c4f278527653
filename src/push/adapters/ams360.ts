import { PermanentError } from '../../base/errors.ts'
import { withoutSecrets } from '../../base/secret.ts'
import { type FetchedToken, TokenHolder } from '../../base/token-holder.ts'
import { submissions } from '../../model/entities/submissions.ts'
import type { Json } from '../../model/json.ts'
import { withoutSecretWords } from '../../upstream/http/answer.ts'
import type { Mapping, PushItem } from '../contract/delivery.ts'
import { LoginRefusals } from '../contract/login-refusals.ts'
import { StepFailure } from '../contract/outcomes.ts'
import { type Adapter, type AdapterDefinition, type AdapterOptions, type Steps, type Taken, withoutEffect } from './adapter.ts'
import { dayOf, noteText } from './note-text.ts'
import { callSoap, type SoapReply } from './soap.ts'

const GUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
const NUMBER = /^[1-9]\d{0,8}$/
/** Characters of a note. The limit of AMS360 is not published. */
const NOTE_LENGTH = 30_000

/**
 * AMS360 (Vertafore) over its SOAP interface WSAPI v3. Each change becomes a note of the customer that the submission is mapped to, by
 * customer id (a GUID) or customer number. Written from copies of Vertafore's WSAPI v3 reference and its WSDL; never run against a live
 * system. From the reference: `Login` takes AgencyNo, LoginId, Password and EmployeeCode. Every other call has the ticket in the header
 * WSAPISession. A note needs a CustomerId of a division that the user may see, and always gets a new id, so there is no idempotency. Notes
 * cannot be listed: an unknown outcome is held for a person, who finds our id in the last line of the note. config/presets/README.md lists
 * what could not be verified.
 */
export const ams360: AdapterDefinition = {
  settings: { agency: 'needed', user: 'needed', employee: 'optional', customer_field: 'optional', namespace: 'optional' },
  credentials: { password: 'needed' },
  check({ mapping, settings }) {
    if (mapping === 'none') return ['mapping must be required or lookup: a note belongs to a customer']
    const field = settings['customer_field']
    if (mapping !== 'lookup' || (field !== undefined && field in submissions.columns)) return []
    return ['mapping lookup needs settings.customer_field: the column of submissions that holds the number or id of the customer']
  },
  create: (options) => new Ams360(options),
}

class Ams360 implements Adapter {
  readonly #o: AdapterOptions
  readonly #namespace: string
  /** The ticket of a sign-in, which has its own timeout: whoever needed it first may have little time left. */
  readonly #tickets = new TokenHolder<FetchedToken, Steps>((steps) => this.#signInCounted(steps.independent()))
  readonly #refusals = new LoginRefusals()
  /** Customer ids by customer number. They never change. */
  readonly #customers = new Map<string, string>()

  constructor(options: AdapterOptions) {
    this.#o = options
    this.#namespace = options.settings['namespace'] ?? 'http://www.WSAPI.AMS360.com/v3.0'
  }

  async deliver(item: PushItem, steps: Steps): Promise<Taken> {
    const { client = '', policy = null } = item.mapping ?? {}
    const customer = GUID.test(client) ? client : await this.#customerId(client, steps)
    if (customer === null) throw new PermanentError(`the submission is mapped to ${JSON.stringify(client)}, which is no customer of AMS360`)
    if (policy !== null && !GUID.test(policy)) throw new PermanentError('the policy of the mapping must be a PolicyId of AMS360 (a GUID)')
    // In the order of the WSDL: .NET ignores elements that come late.
    const note = { 'd:CustomerId': customer, 'd:NoteText': noteText(item, NOTE_LENGTH), 'd:NoteDate': dayOf(item), 'd:PolicyId': policy }
    const reply = await this.#call('CustomerNoteInsert', { 'd:CustomerNote': note }, steps, 'submit')
    return { status: reply.status, remoteId: reply.text('NoteId'), detail: null }
  }

  async findMapping(item: PushItem, steps: Steps): Promise<Mapping | null> {
    const value = item.submission?.[this.#o.settings['customer_field'] ?? ''] ?? ''
    const id = await this.#customerId(String(value), steps)
    return id === null ? null : { client: id, policy: null, fields: {} }
  }

  async probe(steps: Steps): Promise<string> {
    await this.#signIn(steps)
    return `agency ${this.#o.settings['agency']} lets user ${this.#o.settings['user']} in`
  }

  /** @returns the id of the customer with this number or id; null when there is none. */
  async #customerId(client: string, steps: Steps): Promise<string | null> {
    const known = this.#customers.get(client)
    if (known !== undefined || !(NUMBER.test(client) || GUID.test(client))) return known ?? null
    const [operation, name] = NUMBER.test(client) ? ['CustomerGetByNumber', 'CustomerNumber'] : ['CustomerGetById', 'CustomerId']
    const reply = await this.#call(operation, { [`d:${name}`]: client }, steps, 'query')
    const [id = null, ...others] = new Set(reply.texts('CustomerId'))
    if (others.length > 0) throw new PermanentError(`AMS360 knows several customers by ${client}; map the submission by the CustomerId`)
    // Only a customer with exactly this number or id counts.
    if (id === null || !GUID.test(id) || reply.text(name)?.toLowerCase() !== client.toLowerCase()) return null
    if (this.#customers.size >= 1_000) this.#customers.clear()
    this.#customers.set(client, id)
    return id
  }

  /** Calls an operation, and once more with a new ticket when the ticket is refused: nothing was done then. */
  async #call(operation: string, request: Json, steps: Steps, way: 'query' | 'submit'): Promise<SoapReply> {
    for (let renewed = false; ; renewed = true) {
      const { token: ticket } = this.#tickets.usable ?? (await steps.wait(this.#tickets.get(steps)))
      const header = { WSAPISession: { '@xmlns': this.#namespace, Ticket: ticket } }
      const reply = await callSoap(steps, way, this.#soap(operation, request, header))
      // For a query a business fault means that there is no such record.
      if (!reply.isFault || (way === 'query' && reply.has('WSAPIBusinessFault'))) return reply
      if (renewed || !reply.has('WSAPISecurityFault')) {
        const failure = faulty(operation, reply, ticket)
        throw new StepFailure(way === 'query' ? withoutEffect(failure) : failure)
      }
      this.#tickets.forget(ticket)
    }
  }

  async #signInCounted(steps: Steps): Promise<FetchedToken> {
    try {
      return await this.#refusals.counted(steps.clock, () => this.#signIn(steps))
    } catch (error) {
      throw error instanceof StepFailure ? new StepFailure(withoutEffect(error.failure)) : error
    }
  }

  async #signIn(steps: Steps): Promise<FetchedToken> {
    const { settings, credentials } = this.#o
    const { agency = '', user = '', employee = null } = settings
    const who = {
      'd:AgencyNo': agency,
      'd:LoginId': user,
      'd:Password': credentials['password']?.reveal() ?? '',
      'd:EmployeeCode': employee,
    }
    const reply = await callSoap(steps, 'query', this.#soap('Login', who, null))
    if (reply.isFault && reply.has('WSAPISecurityFault')) {
      const error = `AMS360 refuses the credentials (${reasonIn(reply, null)}); check user and password in the WSAPI set-up`
      throw new StepFailure({ type: 'suspend', retry: 'slowly', status: reply.status, error })
    }
    const ticket = reply.isFault ? null : reply.text('Ticket')
    if (!ticket) throw new StepFailure(faulty('Login', reply, null))
    return { token: ticket, expiresInSeconds: null }
  }

  #soap(operation: string, request: Json, header: Json): Parameters<typeof callSoap>[2] {
    const [url, action] = [this.#o.url, `${this.#namespace}/WSAPIServiceContract/${operation}`]
    const content = { '@xmlns:d': `${this.#namespace}/DataContract`, ...(request as Record<string, Json>) }
    return { url, action, header, body: { [operation]: { '@xmlns': this.#namespace, Request: content } } }
  }
}

/**
 * The outcome of a fault. A business fault is about the request, a security fault with a new ticket about the rights of the user. After any
 * other fault the outcome is unknown.
 * @param ticket of the request.
 */
function faulty(operation: string, reply: SoapReply, ticket: string | null): StepFailure['failure'] {
  const error = `AMS360 answered ${operation} with ${reply.isFault ? `a fault (${reasonIn(reply, ticket)})` : 'nothing that was asked for'}`
  if (reply.has('WSAPISecurityFault')) return { type: 'suspend', retry: 'soon', status: reply.status, error }
  if (!reply.has('WSAPIBusinessFault')) return { type: 'unknown', status: reply.status, error }
  return { type: 'failed', permanent: true, alive: true, status: reply.status, error, retryAfterMs: null }
}

/** A fault may repeat what was sent. The ticket is masked here, because it may look like an id, which is not masked. */
function reasonIn(reply: SoapReply, ticket: string | null): string {
  const reason = reply.text('Message') ?? reply.text('faultstring') ?? 'no reason is given'
  return withoutSecretWords(withoutSecrets(reason, [ticket ?? ''], '[…]')).slice(0, 300)
}
