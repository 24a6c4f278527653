import type { Readable } from 'node:stream'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { AccountConfig } from '../config/config.ts'
import { timeFromMs } from '../model/time.ts'
import type { RejectedStore } from '../store/inbox/rejected.ts'
import {
  checkHeaders,
  DeliveryVerifier,
  type HeaderValues,
  type SignatureClaims,
  type VerifyResult,
} from '../upstream/webhook/signature.ts'
import { type Answer, answers } from './answers.ts'
import { BadSignatures } from './bad-signatures.ts'
import { readBody } from './body.ts'
import { Budget } from './budget.ts'
import { type Deadline, Deadlines } from './deadlines.ts'
import { type Appender, GroupCommit } from './group-commit.ts'
import { NO_ACCOUNT, type RefusedRequest, Rejections, type RejectReason } from './rejections.ts'
import type { SecretUses } from './secret-uses.ts'
import { Semaphore } from './semaphore.ts'
import { storedHeaders } from './stored-headers.ts'

export interface ReceiverOptions {
  readonly accounts: readonly AccountConfig[]
  readonly bodyLimitBytes: number
  readonly appender: Appender
  readonly rejectedStore: RejectedStore
  readonly secretUses: Pick<SecretUses, 'note'>
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
}

/** A POST to one of the webhook paths. */
export interface DeliveryRequest {
  /** As the path names it; undefined on the path of the default account. */
  readonly account: string | undefined
  readonly path: string
  /** The sender's, or the one that a trusted proxy names; `unknown` when there is none to be told. */
  readonly address: string
  readonly headers: HeaderValues
  readonly body: Readable
}

/** The sender waits 10 s (trap 29). */
const ANSWER_WITHIN_MS = 8_000
/** What the bodies of all requests together may take, and again what waits to be stored. */
const MEMORY_BYTES = 64 << 20
/** Bodies above this take more than a quarter of a millisecond to verify. */
const CHEAP_BODY_BYTES = 32 << 10

interface ReceivingAccount {
  readonly name: string
  /** Another one when its secrets change: a delivery whose body is still coming then goes by the new ones. */
  verifier: DeliveryVerifier
}

/**
 * Takes deliveries: a known account, then the cheap checks of the headers, then the body, its signature, and the inbox. An answer
 * of 204 means that the delivery is durably stored (invariant 1); after a good signature the only other answer is 503 (invariant 11).
 * It neither parses nor judges what a delivery says.
 */
export class Receiver {
  readonly #o: ReceiverOptions
  #accounts: ReadonlyMap<string, ReceivingAccount> = new Map()
  #default: ReceivingAccount | undefined
  readonly #commits: GroupCommit
  readonly #deadlines: Deadlines
  readonly #memory: Budget
  readonly #badSignatures = new BadSignatures()
  readonly #rejections: Rejections
  readonly #suspects = new Semaphore()
  #draining = false
  #inHand = 0
  readonly #emptied = Promise.withResolvers<void>()

  constructor(options: ReceiverOptions) {
    const { clock, log, observer, bodyLimitBytes } = options
    this.#o = options
    this.setAccounts(options.accounts)
    const memoryBytes = Math.max(MEMORY_BYTES, 2 * bodyLimitBytes)
    this.#memory = new Budget(memoryBytes)
    this.#commits = new GroupCommit({ appender: options.appender, log, observer, waitingBytes: memoryBytes })
    this.#deadlines = new Deadlines(clock, ANSWER_WITHIN_MS)
    this.#rejections = new Rejections({ store: options.rejectedStore, badSignatures: this.#badSignatures, log, observer })
  }

  /** Takes deliveries for these accounts from now on. @throws Error when a webhook secret is none; then nothing has changed. */
  setAccounts(accounts: readonly AccountConfig[]): void {
    const verifiers = accounts.map(({ name, webhookSecrets }) => ({ name, verifier: new DeliveryVerifier(webhookSecrets) }))
    this.#accounts = new Map(
      verifiers.map(({ name, verifier }) => [name, Object.assign(this.#accounts.get(name) ?? { name, verifier }, { verifier })]),
    )
    const standard = accounts.find((account) => account.isDefault)
    this.#default = standard && this.#accounts.get(standard.name)
  }

  get draining(): boolean {
    return this.#draining
  }

  /** Never rejects. A sender that went away gets an answer too, which nobody hears. */
  async receive(request: DeliveryRequest): Promise<Answer> {
    const startedAt = performance.now()
    const deadline = this.#deadlines.start()
    this.#inHand += 1
    const account = request.account === undefined ? this.#default : this.#accounts.get(request.account)
    let answer: Answer
    try {
      if (this.#draining) answer = answers.unavailable
      else if (account === undefined) answer = this.#refuse(request, null, deadline, 'unknown_account', null)
      else answer = await this.#receiveFor(account, request, deadline)
    } catch (error) {
      this.#o.log.error({ account: account?.name, err: error }, 'a delivery met an unexpected error and is answered 503')
      answer = answers.unavailable
    }
    deadline.end()
    const labels = { account: account?.name ?? NO_ACCOUNT }
    this.#o.observer.count('deliveries_total', { ...labels, answer: answer.label })
    this.#o.observer.time('acknowledge_seconds', (performance.now() - startedAt) / 1000, labels)
    this.#inHand -= 1
    if (this.#draining && this.#inHand === 0) this.#emptied.resolve()
    return answer
  }

  /** From now on every request is answered 503. Resolves when those in hand are answered and what they left is written. */
  async drain(): Promise<void> {
    this.#draining = true
    if (this.#inHand === 0) this.#emptied.resolve()
    await this.#emptied.promise
    this.#deadlines.close()
    await this.#o.rejectedStore.settled()
  }

  async #receiveFor(account: ReceivingAccount, request: DeliveryRequest, deadline: Deadline): Promise<Answer> {
    const { bodyLimitBytes } = this.#o
    const checked = checkHeaders(request.headers, deadline.startedAt)
    if (!checked.ok) return this.#refuse(request, account, deadline, checked.reason, null)
    if (Number(request.headers['content-length']) > bodyLimitBytes) return this.#refuse(request, account, deadline, 'body_too_large', null)
    const body = await readBody(request.body, { limitBytes: bodyLimitBytes, memory: this.#memory, deadline })
    if (body === 'too_large') return this.#refuse(request, account, deadline, 'body_too_large', null)
    if (typeof body === 'string') {
      this.#o.log.debug(
        { account: account.name, delivery: checked.claims[0].deliveryId, reason: body },
        'the body of a delivery did not arrive',
      )
      return answers.unavailable
    }
    try {
      return await this.#verifyAndStore(account, request, checked.claims, body, deadline)
    } finally {
      this.#memory.give(body.length)
    }
  }

  async #verifyAndStore(
    account: ReceivingAccount,
    request: DeliveryRequest,
    claims: SignatureClaims,
    body: Buffer,
    deadline: Deadline,
  ): Promise<Answer> {
    const { log, observer, secretUses } = this.#o
    const { verifier } = account
    const verified = await this.#verify(verifier, request, claims, body, deadline)
    if (verified === null) return answers.unavailable
    if (!verified.ok) return this.#refuse(request, account, deadline, verified.reason, body)
    observer.count('deliveries_verified_total', { account: account.name, secret: String(verified.secret) })
    secretUses.note(account.name, verifier.tags[verified.secret - 1] ?? '', deadline.startedAt)
    const failure = await this.#commits.add(
      {
        account: account.name,
        deliveryId: verified.deliveryId,
        receivedAt: timeFromMs(deadline.startedAt),
        headers: storedHeaders(verified.headers, request.headers),
        body,
        secret: verified.secret,
      },
      deadline,
    )
    if (log.isLevelEnabled('debug')) {
      const about = { account: account.name, delivery: verified.deliveryId, bytes: body.length }
      log.debug(
        failure === null ? about : { ...about, err: failure },
        failure === null ? 'a delivery was stored' : 'a delivery was not stored',
      )
    }
    return failure === null ? answers.stored : answers.unavailable
  }

  /** @returns null when too many suspicious bodies wait to be verified. */
  #verify(
    verifier: DeliveryVerifier,
    request: DeliveryRequest,
    claims: SignatureClaims,
    body: Buffer,
    deadline: Deadline,
  ): VerifyResult | Promise<VerifyResult | null> {
    // A good signature is never limited, so even who sent too many bad ones is verified, but not at everybody's cost.
    if (body.length <= CHEAP_BODY_BYTES || !this.#badSignatures.isLimited(request.address, deadline.startedAt)) {
      return verifier.verify(claims, body)
    }
    return this.#suspects.pass(() => verifier.verify(claims, body))
  }

  #refuse(
    request: DeliveryRequest,
    account: ReceivingAccount | null,
    deadline: Deadline,
    reason: RejectReason,
    body: Buffer | null,
  ): Answer {
    const { path, address, headers } = request
    const refused: RefusedRequest = { account: account?.name ?? null, path, address, headers, receivedAt: deadline.startedAt, body }
    return this.#rejections.refuse(refused, reason)
  }
}
