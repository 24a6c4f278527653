import { PermanentError } from '../../base/errors.ts'
import { withoutSecrets } from '../../base/secret.ts'
import { type FetchedToken, TokenHolder } from '../../base/token-holder.ts'
import type { Ams360Destination } from '../../config/config.ts'
import type { Json } from '../../model/json.ts'
import { withoutSecretWords } from '../../upstream/http/answer.ts'
import type { Mapping, Outcome, PushItem } from '../contract/delivery.ts'
import { LoginRefusals } from '../contract/login-refusals.ts'
import { remoteIdOf, StepFailure, taken, withoutEffect } from '../contract/outcomes.ts'
import { callSoap, type SoapReply } from './soap.ts'
import type { Steps } from './steps.ts'

const GUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
const NUMBER = /^[1-9]\d{0,8}$/
/** Limit of a note, in characters. AMS360 doesn't publish its limit. */
const NOTE_LENGTH = 30_000

/**
 * Delivers changes to AMS360 (Vertafore) over its SOAP interface WSAPI v3. Each change becomes a note of the mapped
 * customer. The mapping has a CustomerId (a GUID) or a customer number.
 * The code follows copies of Vertafore's reference and WSDL, and never ran against a live system.
 * config/systems/ams360.md lists what couldn't be verified.
 * `Login` takes AgencyNo, LoginId, Password, and EmployeeCode. Every other call has the ticket in the
 * header WSAPISession.
 * A note always gets a new id, so a repeated delivery adds a second note. Notes can't be listed. If an outcome is
 * unknown, a person must search AMS360 for the message id in the note's last line.
 */
export class Ams360 {
  readonly #o: Ams360Destination
  readonly #namespace: string
  /**
   * Session tickets. A login has its own timeout, because the delivery that needs the ticket may have little time left.
   */
  readonly #tickets = new TokenHolder<FetchedToken, Steps>((steps) => this.#signInCounted(steps.independent()))
  readonly #refusals = new LoginRefusals()
  /** CustomerIds, by customer number or CustomerId. A customer's CustomerId never changes. */
  readonly #customers = new Map<string, string>()

  constructor(destination: Ams360Destination) {
    this.#o = destination
    this.#namespace = destination.namespace
  }

  /**
   * Adds the note for a change.
   * @throws StepFailure with the outcome of the delivery.
   * @throws PermanentError if a retry can't help.
   */
  async deliver(item: PushItem, steps: Steps): Promise<Outcome> {
    const { client = '', policy = null } = item.mapping ?? {}
    const customer = GUID.test(client) ? client : await this.#customerId(client, steps)
    if (customer === null)
      throw new PermanentError(
        `the submission is mapped to ${JSON.stringify(client)}, which is not a customer of AMS360; correct the mapping`,
      )
    if (policy !== null && !GUID.test(policy)) throw new PermanentError('the policy of the mapping must be a PolicyId of AMS360 (a GUID)')
    // The elements must have the order of the WSDL. .NET ignores elements that are out of order.
    const note = { 'd:CustomerId': customer, 'd:NoteText': noteText(item, NOTE_LENGTH), 'd:NoteDate': dayOf(item), 'd:PolicyId': policy }
    const reply = await this.#call('CustomerNoteInsert', { 'd:CustomerNote': note }, steps, 'submit')
    return taken(reply.status, remoteIdOf(reply.text('NoteId')), null)
  }

  /**
   * Finds the customer by the number or id in the submission's column `customerField`. Never searches by name.
   * @returns null if no customer matches.
   */
  async findMapping(item: PushItem, steps: Steps): Promise<Mapping | null> {
    const value = item.submission?.[this.#o.customerField ?? ''] ?? ''
    const id = await this.#customerId(String(value), steps)
    return id === null ? null : { client: id, policy: null, fields: {} }
  }

  /**
   * Signs in to check the credentials.
   * @returns a sentence about the login.
   */
  async probe(steps: Steps): Promise<string> {
    await this.#signIn(steps)
    return `agency ${this.#o.agency} accepts the login of user ${this.#o.user}`
  }

  async #customerId(client: string, steps: Steps): Promise<string | null> {
    const known = this.#customers.get(client)
    if (known !== undefined || !(NUMBER.test(client) || GUID.test(client))) return known ?? null
    const [operation, name] = NUMBER.test(client) ? ['CustomerGetByNumber', 'CustomerNumber'] : ['CustomerGetById', 'CustomerId']
    const reply = await this.#call(operation, { [`d:${name}`]: client }, steps, 'query')
    const [id = null, ...others] = new Set(reply.texts('CustomerId'))
    if (others.length > 0)
      throw new PermanentError(`AMS360 has several customers with the number ${client}; map the submission to a CustomerId instead`)
    // Accepts only a customer with exactly this number or id.
    if (id === null || !GUID.test(id) || reply.text(name)?.toLowerCase() !== client.toLowerCase()) return null
    if (this.#customers.size >= 1_000) this.#customers.clear()
    this.#customers.set(client, id)
    return id
  }

  /**
   * Calls an operation. If AMS360 rejects the ticket, the operation had no effect. The call is then repeated once
   * with a new ticket.
   */
  async #call(operation: string, request: Json, steps: Steps, way: 'query' | 'submit'): Promise<SoapReply> {
    for (let renewed = false; ; renewed = true) {
      const { token: ticket } = this.#tickets.usable ?? (await steps.wait(this.#tickets.get(steps)))
      const header = { WSAPISession: { '@xmlns': this.#namespace, Ticket: ticket } }
      const reply = await callSoap(steps, way, this.#soap(operation, request, header))
      // For a query, a business fault means that the record doesn't exist.
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
    const { agency, user, password, employee } = this.#o
    const who = {
      'd:AgencyNo': agency,
      'd:LoginId': user,
      'd:Password': password.reveal(),
      'd:EmployeeCode': employee,
    }
    const reply = await callSoap(steps, 'query', this.#soap('Login', who, null))
    if (reply.isFault && reply.has('WSAPISecurityFault')) {
      const error = `AMS360 rejects the credentials (${reasonIn(reply, null)}); check user and password in the WSAPI setup`
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
 * @returns the outcome of a failed call. A business fault means that the request is wrong. A security fault with a new
 * ticket means that the user lacks rights. For any other answer, the outcome is unknown.
 */
function faulty(operation: string, reply: SoapReply, ticket: string | null): StepFailure['failure'] {
  const error = `AMS360 answered ${operation} with ${reply.isFault ? `a fault (${reasonIn(reply, ticket)})` : 'an answer without the requested data'}`
  if (reply.has('WSAPISecurityFault')) return { type: 'suspend', retry: 'soon', status: reply.status, error }
  if (!reply.has('WSAPIBusinessFault')) return { type: 'unknown', status: reply.status, error }
  return { type: 'failed', permanent: true, alive: true, status: reply.status, error, retryAfterMs: null }
}

/**
 * @returns the reason of a fault. The reason may repeat the request, including the ticket. The ticket is masked here,
 * because `withoutSecretWords` doesn't mask words that look like an id.
 */
function reasonIn(reply: SoapReply, ticket: string | null): string {
  const reason = reply.text('Message') ?? reply.text('faultstring') ?? 'no reason given'
  return withoutSecretWords(withoutSecrets(reason, [ticket ?? ''], '[…]')).slice(0, 300)
}

const LEFT_OUT = new Set(['account', 'submission_id'])

/**
 * Describes a change as plain text, for a note. Every attempt makes the same text. The last line has the message id.
 * @param maxLength limit in characters, without the last line. A longer text is cut and marked.
 */
export function noteText(item: PushItem, maxLength: number): string {
  const { submissionId, entity, operation, direction, after, messageId, leftFilter } = item
  const detail = direction === null ? '' : `, ${direction} by the agency`
  const columns = Object.entries(after ?? {}).filter(([name, value]) => value !== null && !LEFT_OUT.has(name))
  // The column `direction` has the service's view, which is the opposite of the brokerage's view.
  const shown = direction === null ? columns : columns.filter(([name]) => name !== 'direction')
  const lines = shown.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const left = leftFilter ? ['This record no longer matches the filter of the destination.'] : []
  const text = [`Submission ${submissionId}: ${entity} ${operation}${recordOf(item)}${detail}`, ...left, ...lines].join('\n')
  return `${text.length > maxLength ? `${whole(text.slice(0, maxLength))}… (cut)` : text}\nsubmission-mirror ${messageId}`
}

/**
 * @returns midnight (UTC) of the record's `occurred_at`; without `occurred_at`, of the day of the change. AMS360 notes
 * have a date but no time.
 */
export function dayOf({ after, changedAt }: PushItem): string {
  return `${String(after?.['occurred_at'] ?? changedAt).slice(0, 10)}T00:00:00`
}

function recordOf({ operation, entityId, submissionId }: PushItem): string {
  if (operation === 'insert') return ''
  const steps = (JSON.parse(entityId) as readonly unknown[]).filter((step) => step !== submissionId)
  return steps.length === 0 ? '' : ` of ${steps.join(' ')}`
}

/** Removes half a character (a lone surrogate) at the end of a cut text. */
function whole(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '').toWellFormed()
}
