import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import PQueue from 'p-queue'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { AccountConfig } from '../config/config.ts'
import { timeFromMs } from '../model/time.ts'
import type { RejectedStore } from '../store/inbox/rejected.ts'
import type { LastUses } from '../store/reads/last-uses.ts'
import {
  checkHeaders,
  DeliveryVerifier,
  type HeaderValues,
  type SignatureClaims,
  type VerifyResult,
} from '../upstream/webhook/signature.ts'
import { type Answer, answers } from './answers.ts'
import { BadSignatures } from './bad-signatures.ts'
import { MemoryBudget, readBody } from './body.ts'
import { Deadline } from './deadline.ts'
import { type Appender, GroupCommit } from './group-commit.ts'
import { NO_ACCOUNT, Rejections, type RejectReason, storedHeaders } from './rejections.ts'

export interface ReceiverOptions {
  readonly accounts: readonly AccountConfig[]
  readonly bodyLimitBytes: number
  readonly appender: Appender
  readonly rejectedStore: RejectedStore
  readonly lastUses: Pick<LastUses, 'note'>
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
}

/** A POST to one of the webhook paths. */
interface DeliveryRequest {
  /** Account in the path; undefined on the path of the default account. */
  readonly account: string | undefined
  readonly path: string
  /**
   * Address of the sender, or the address that a trusted proxy names. `unknown` if the sender has already disconnected.
   */
  readonly address: string
  readonly headers: HeaderValues
  readonly body: Readable
  /** Called after a good signature, before the delivery is stored. */
  onSigned(): void
  /** Called if the body has too many small chunks. The sender gets no answer after this call. */
  onManyChunks(): void
}

/** Time limit for an answer. The service stops waiting after 10 s (trap 29). */
const ANSWER_WITHIN_MS = 8_000
/**
 * Memory for bodies of requests in flight, in bytes. Bodies that wait to be stored have a limit of the same size. Both
 * limits are raised to twice WEBHOOK_BODY_LIMIT if they are smaller.
 */
const MEMORY_BYTES = 64 << 20
/**
 * If an address sent many bad signatures, its bodies above this size in bytes wait in a queue for verification.
 * Verifying such a body takes more than 0.25 ms.
 */
const CHEAP_BODY_BYTES = 32 << 10
/**
 * Maximum number of large bodies in the queue for verification. Only addresses with many bad signatures use this queue.
 */
const MAX_SUSPECTS = 32

interface ReceivingAccount {
  readonly name: string
  /** Replaced when the webhook secrets change. Requests in flight then use the new secrets. */
  verifier: DeliveryVerifier
}

/** An unanswered request. `account` is null if the path names no configured account. */
interface InFlight {
  readonly request: DeliveryRequest
  readonly account: ReceivingAccount | null
  readonly deadline: Deadline
}

/**
 * Receives deliveries. Checks the account, the headers, the body, and the signature, in this order: from cheap to
 * costly. Then stores the delivery in the inbox. 204 means that the delivery is durably stored. After a good signature,
 * the only other answer is 503. The content is neither parsed nor validated.
 */
export class Receiver {
  readonly #o: ReceiverOptions
  #accounts: ReadonlyMap<string, ReceivingAccount> = new Map()
  #default: ReceivingAccount | undefined
  readonly #commits: GroupCommit
  readonly #memory: MemoryBudget
  readonly #badSignatures = new BadSignatures()
  readonly #rejections: Rejections
  readonly #suspects = new PQueue({ concurrency: 1 })
  #draining = false
  #inFlight = 0
  readonly #drained = Promise.withResolvers<void>()

  constructor(options: ReceiverOptions) {
    const { log, observer, bodyLimitBytes } = options
    this.#o = options
    this.setAccounts(options.accounts)
    const memoryBytes = Math.max(MEMORY_BYTES, 2 * bodyLimitBytes)
    this.#memory = new MemoryBudget(memoryBytes)
    this.#commits = new GroupCommit({ appender: options.appender, log, observer, waitingBytes: memoryBytes })
    this.#rejections = new Rejections({ store: options.rejectedStore, badSignatures: this.#badSignatures, log, observer })
  }

  /**
   * From now on, receives deliveries for these accounts.
   * @throws Error if a webhook secret is malformed. The accounts then stay as before.
   */
  setAccounts(accounts: readonly AccountConfig[]): void {
    const verifiers = accounts.map(({ name, webhookSecrets }) => ({ name, verifier: new DeliveryVerifier(webhookSecrets) }))
    this.#accounts = new Map(
      verifiers.map(({ name, verifier }) => [name, Object.assign(this.#accounts.get(name) ?? { name, verifier }, { verifier })]),
    )
    const standard = accounts.find((account) => account.default)
    this.#default = standard && this.#accounts.get(standard.name)
  }

  get draining(): boolean {
    return this.#draining
  }

  /** Handles one delivery and returns the answer to send. Never rejects. */
  async receive(request: DeliveryRequest): Promise<Answer> {
    const startedAt = performance.now()
    const deadline = new Deadline(this.#o.clock, ANSWER_WITHIN_MS)
    const account = (request.account === undefined ? this.#default : this.#accounts.get(request.account)) ?? null
    this.#inFlight += 1
    const answer = await this.#answer({ request, account, deadline })
    deadline.end()
    const labels = { account: account?.name ?? NO_ACCOUNT }
    this.#o.observer.count('deliveries_total', { ...labels, answer: answer.label })
    this.#o.observer.time('acknowledge_seconds', (performance.now() - startedAt) / 1000, labels)
    this.#inFlight -= 1
    if (this.#draining && this.#inFlight === 0) this.#drained.resolve()
    return answer
  }

  /**
   * Answers new requests with 503. Resolves when all requests in flight are answered and all
   * rejected deliveries are stored.
   */
  async drain(): Promise<void> {
    this.#draining = true
    if (this.#inFlight === 0) this.#drained.resolve()
    await this.#drained.promise
    await this.#o.rejectedStore.settled()
  }

  async #answer(inFlight: InFlight): Promise<Answer> {
    const { account } = inFlight
    try {
      if (this.#draining) return answers.unavailable
      return account === null ? this.#reject(inFlight, 'unknown_account') : await this.#receiveFor(account, inFlight)
    } catch (error) {
      this.#o.log.error(
        { account: account?.name, err: error },
        'a delivery was answered 503 because of an unexpected error; it will be sent again',
      )
      return answers.unavailable
    }
  }

  async #receiveFor(account: ReceivingAccount, inFlight: InFlight): Promise<Answer> {
    const { request, deadline } = inFlight
    const limitBytes = this.#o.bodyLimitBytes
    const checked = checkHeaders(request.headers, deadline.startedAt)
    if (!checked.ok) return this.#reject(inFlight, checked.reason)
    if (Number(request.headers['content-length']) > limitBytes) return this.#reject(inFlight, 'body_too_large')
    const body = await readBody(request.body, { limitBytes, memory: this.#memory, deadline })
    if (body === 'too_large') return this.#reject(inFlight, 'body_too_large')
    if (typeof body === 'string') {
      if (body === 'many_chunks') request.onManyChunks()
      const about = { account: account.name, delivery: checked.claims[0].deliveryId, reason: body }
      this.#o.log.debug(about, `the body of a delivery could not be read (${body}); answered 503`)
      return answers.unavailable
    }
    try {
      const verified = await this.#verify(account, inFlight, checked.claims, body)
      if (verified === null) return answers.unavailable
      return verified.ok ? await this.#store(account, inFlight, verified, body) : this.#reject(inFlight, verified.reason, body)
    } finally {
      this.#memory.release(body.length)
    }
  }

  /**
   * Verifies the signature of a body. An address with many bad signatures may still send a good signature, so its
   * bodies are verified too. Its large bodies are verified one at a time, each in a new turn of the event loop.
   * @returns the result; null if too many of these large bodies are waiting.
   */
  async #verify(
    { verifier }: ReceivingAccount,
    { request, deadline }: InFlight,
    claims: SignatureClaims,
    body: Buffer,
  ): Promise<VerifyResult | null> {
    if (body.length <= CHEAP_BODY_BYTES || !this.#badSignatures.isLimited(request.address, deadline.startedAt)) {
      return verifier.verify(claims, body)
    }
    if (this.#suspects.size + this.#suspects.pending >= MAX_SUSPECTS) return null
    return await this.#suspects.add(async () => {
      await nextTurn()
      return verifier.verify(claims, body)
    })
  }

  async #store(
    { name: account, verifier }: ReceivingAccount,
    { request, deadline }: InFlight,
    verified: VerifyResult & { readonly ok: true },
    body: Buffer,
  ): Promise<Answer> {
    const { log, observer, lastUses } = this.#o
    const { deliveryId, secret } = verified
    request.onSigned()
    observer.count('deliveries_verified_total', { account, secret: String(secret) })
    lastUses.note('webhook_secret', account, verifier.tags[secret - 1] ?? '', deadline.startedAt)
    const headers = storedHeaders(verified.headers, request.headers)
    const delivery = { account, deliveryId, receivedAt: timeFromMs(deadline.startedAt), headers, body, secret }
    const failure = await this.#commits.add(delivery, deadline)
    observer.trace?.({
      name: 'delivery',
      of: { account, deliveryId },
      startMs: deadline.startedAt,
      endMs: this.#o.clock.now(),
      failed: failure !== null,
      attributes: { bytes: body.length },
    })
    if (failure === null) {
      log.debug({ account, delivery: deliveryId, bytes: body.length }, 'a delivery was stored')
      return answers.stored
    }
    log.debug({ account, delivery: deliveryId, bytes: body.length, err: failure }, 'a delivery was not stored')
    return answers.unavailable
  }

  /** @param body null if the body was not read. */
  #reject({ request, account, deadline }: InFlight, reason: RejectReason, body: Buffer | null = null): Answer {
    const { path, address, headers } = request
    return this.#rejections.reject({ account: account?.name ?? null, path, address, headers, receivedAt: deadline.startedAt, body }, reason)
  }
}
