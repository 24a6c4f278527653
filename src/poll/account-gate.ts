import { inApplyTransaction } from '../apply/apply.ts'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { Fact } from '../model/facts.ts'
import { timeFromMs } from '../model/time.ts'
import type { Db } from '../store/engine/db.ts'
import { submissionIdsAfter, unreachableSince, wasUnreachable } from '../store/mirror/submissions.ts'
import { countReadSubmissions, resetMisses, sampleReadSubmissions, sampleUnreadSubmissions } from '../store/reads/account-reads.ts'
import { findAccount, isRetryDue, pinBrokerage, resumeAccount, stopAccount } from '../store/reads/accounts.ts'
import type { ReadClaim } from '../store/reads/claims.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { type UpstreamClass, upstreamClass } from '../upstream/http/errors.ts'
import { isSameBrokerage } from '../upstream/wire/answers.ts'
import type { ClaimedReadEnd } from './claimed-read.ts'
import { NotFoundWave, WAVE_WINDOW_MS } from './not-found-wave.ts'
import { Refusals, submissionsToProbe } from './refusals.ts'

/** A stopped account tries again by itself after this long. */
export const RETRY_MS = 900_000
/** While the service cannot be asked who we are, it is asked again after this long; reading goes on. */
const ASK_AGAIN_MS = 60_000
/** What is kept of a brokerage is read over only once it is known whose credentials these are; or when so much waiting was in vain. */
const FIRST_PATIENCE_MS = 30_000
/** The longest pause between two such asks; the first is a second, and each is twice the one before. */
const LONGEST_PAUSE_MS = 8_000
/** A stopped account tries with so many submissions whether it may be read again. */
const SAMPLE = 5
/** Among so many known submissions those are looked for that were not refused. */
const KNOWN = 20

export interface GateOptions {
  readonly account: string
  readonly db: Db
  readonly client: UpstreamClient
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
}

/**
 * Decides whether an account may be read. An account is
 * - `active`: its reads are made;
 * - `parked`: its credentials were refused, or every read that was made with them; the service is not asked again before `retry_at`
 *   (trap 43);
 * - `paused`: the credentials belong to another brokerage than the one pinned, or all that was known is suddenly "not found".
 * From `retry_at` on, identity (and some submissions, when it was they that were not found or refused) is asked for once; if all is well
 * the account is active again.
 */
export class AccountGate {
  readonly #o: GateOptions
  readonly #wave: NotFoundWave
  readonly #refusals = new Refusals()
  /** The pause after a wave: being made, or made; null when there is none. */
  #wavePause: 'under way' | 'made' | null = null
  #askIdentityAt = Number.NEGATIVE_INFINITY
  /** Whether it is known, since this process began, who we are, or was asked often enough in vain. */
  #hasAsked = false

  constructor(options: GateOptions) {
    this.#o = options
    this.#wave = new NotFoundWave(options.clock)
  }

  /** @returns whether the account may not be read now. */
  async isClosed(signal: AbortSignal): Promise<boolean> {
    const { db, account, clock } = this.#o
    const row = await findAccount(db.read, account)
    if (row === null || row.state === 'active') {
      if (this.#wavePause === 'made') this.#wavePause = null
      if (clock.steady() < this.#askIdentityAt) return false
      return (await this.#identifyFirst(row?.brokerage ?? null, signal)) === 'stopped' || (await this.#mayReadNothing(signal))
    }
    this.#refusals.clear()
    if (!(await isRetryDue(db.read, account))) return true
    const identity = await this.#identify(row.brokerage, signal)
    if (identity === 'stopped') return true
    if (identity === 'unknown' || (await this.#isAsBefore(row.reason ?? '', signal))) {
      await stopAccount(db, account, row.state, row.reason ?? '', RETRY_MS)
      return true
    }
    this.#wave.clear()
    await resumeAccount(db, account)
    this.#wavePause = null
    this.#o.log.info({ account }, `account ${account} is active again`)
    return false
  }

  /** Notes how a read of a submission ended that began at `begunAt`, in ms. @returns whether the account is now paused. */
  async note(claim: Pick<ReadClaim, 'submissionId' | 'read' | 'lastReadAt'>, end: ClaimedReadEnd, begunAt: number): Promise<boolean> {
    if (end === 'refused') this.#doubt(claim.submissionId)
    if (end === 'read' || end === 'stalled') this.#refusals.clear()
    if (claim.lastReadAt === null) return false
    if (end === 'read') this.#wave.note(claim.submissionId, claim.read, false)
    return end === 'gone' && this.#noteGone(claim, begunAt)
  }

  /**
   * A read was refused: the service is asked at once who we are. Only when that is refused too are the credentials no longer good; one
   * read alone may be refused for reasons of its own, and goes on failing alone. When read after read is, it is looked into.
   */
  #doubt(submissionId: string): void {
    this.#askIdentityAt = Number.NEGATIVE_INFINITY
    this.#refusals.note(submissionId)
  }

  async #noteGone({ submissionId, read }: Pick<ReadClaim, 'submissionId' | 'read'>, begunAt: number): Promise<boolean> {
    const { db, account } = this.#o
    const wasBelieved = await wasUnreachable(db.read, account, submissionId, timeFromMs(begunAt))
    const known = await countReadSubmissions(db.read, account, 10)
    // What was under way when the account was paused is part of the same wave.
    if (this.#wavePause !== null) {
      this.#wave.join(submissionId)
      await this.#takeBack([submissionId])
      return true
    }
    // What was believed already says nothing new, however often it is looked for; what this read has confirmed does.
    if (wasBelieved) return false
    this.#wave.note(submissionId, read, true)
    if (!this.#wave.isWave(known)) return false
    await this.#pauseForWave()
    return true
  }

  async #pauseForWave(): Promise<void> {
    const missing = this.#wave.take()
    this.#wavePause = 'under way'
    try {
      await this.#stop('paused', `${WAVE_REASON}, which looks like a wrong credential; check which brokerage it belongs to`)
      await this.#takeBack(missing)
      this.#wavePause = 'made'
    } catch (error) {
      // The store was away, and the account may go on: what is missing then is a wave as before.
      this.#wave.forget()
      this.#wavePause = null
      throw error
    }
  }

  /** A wave marks nothing: what it has confirmed already is unmarked, and what it has not is forgotten. */
  async #takeBack(missing: readonly string[]): Promise<void> {
    const { db, account, clock, observer } = this.#o
    const since = timeFromMs(clock.now() - WAVE_WINDOW_MS)
    const marked = await unreachableSince(db.read, account, missing, since)
    const facts = marked.map((submissionId): Fact => ({ kind: 'reach', account, submissionId, cause: 'poll', unreachableSince: null }))
    await inApplyTransaction(db, observer, 'wave-taken-back', (transaction) => transaction.apply(facts))
    await resetMisses(db, account)
  }

  /**
   * Credentials of another brokerage may know the same submissions, as a copy of production does: before a process reads over what it finds,
   * it asks again for a while. A service that never says who we are stops nothing (trap 46).
   */
  async #identifyFirst(pinned: string | null, signal: AbortSignal): Promise<Identity> {
    const { clock } = this.#o
    const until = clock.steady() + FIRST_PATIENCE_MS
    let identity = await this.#identify(pinned, signal)
    const isToAsk = () => identity === 'unknown' && pinned !== null && !this.#hasAsked && clock.steady() < until
    for (let pauseMs = 1_000; isToAsk(); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await clock.sleep(pauseMs, signal)
      identity = await this.#identify(pinned, signal)
    }
    this.#hasAsked = true
    return identity
  }

  async #identify(pinned: string | null, signal: AbortSignal): Promise<Identity> {
    const { db, account, client, clock, log } = this.#o
    try {
      const { brokerage, clientId } = await client.me(signal)
      if (pinned !== null && !isSameBrokerage(pinned, brokerage)) {
        await this.#stop(
          'paused',
          `the credentials belong to brokerage ${brokerage}, but this account holds the data of ${pinned}; give them an account of their own`,
        )
        return 'stopped'
      }
      await pinBrokerage(db, account, brokerage, clientId)
      this.#askIdentityAt = clock.steady() + RETRY_MS * 4
      return 'known'
    } catch (error) {
      const kind = upstreamClass(error)
      if (kind === null || signal.aborted) throw error
      if (kind === 'auth' || kind === 'rejected' || kind === 'gone') {
        const mend = 'see that client id, secret and base URL are right'
        await this.#stop('parked', `the service refuses the credentials (${messageOf(error)}); ${mend}`)
        return 'stopped'
      }
      this.#askIdentityAt = clock.steady() + ASK_AGAIN_MS
      log.warn({ account, err: error }, `the service could not be asked whose credentials these are: ${messageOf(error)}`)
      return 'unknown'
    }
  }

  /** After so many refusals in a row, asks submissions that were not refused; when all are, parks the account. @returns whether it did. */
  async #mayReadNothing(signal: AbortSignal): Promise<boolean> {
    const refused = this.#refusals.take()
    if (refused === null) return false
    const refusal = refusalIn(await this.#ask(submissionsToProbe(refused, await this.#known(KNOWN)), signal))
    if (refusal === null) return false
    await this.#stop(
      'parked',
      `${REFUSED_REASON} (${refusal}); see that the key has the scope to read, broker_mcp, and is for this brokerage's submissions`,
    )
    return true
  }

  /** Whether that for which the account was stopped still holds. */
  async #isAsBefore(reason: string, signal: AbortSignal): Promise<boolean> {
    if (reason.startsWith(REFUSED_REASON)) return refusalIn(await this.#ask(await this.#known(SAMPLE), signal)) !== null
    if (!reason.startsWith(WAVE_REASON)) return false
    const { db, account } = this.#o
    // All that was read may have been removed: then one that is new shows whether the account may be read.
    const known = [...(await sampleReadSubmissions(db.read, account, SAMPLE)), ...(await sampleUnreadSubmissions(db.read, account, SAMPLE))]
    const answers = await this.#ask([...new Set(known)], signal)
    return !answers.some(({ kind }) => kind === 'read')
  }

  /** Some submissions of the account, those first that were read most recently. */
  async #known(limit: number): Promise<string[]> {
    const { db, account } = this.#o
    const read = await sampleReadSubmissions(db.read, account, limit)
    return [...new Set([...read, ...(await submissionIdsAfter(db.read, account, '', limit))])].slice(0, limit)
  }

  /** Reads the state of one submission after another, up to the first that is answered. */
  async #ask(submissionIds: readonly string[], signal: AbortSignal): Promise<Answered[]> {
    const answers: Answered[] = []
    for (const submissionId of submissionIds) {
      try {
        await this.#o.client.requirements(submissionId, signal)
        return [...answers, { kind: 'read', said: '' }]
      } catch (error) {
        const kind = upstreamClass(error)
        if (kind === null || signal.aborted) throw error
        answers.push({ kind, said: messageOf(error) })
      }
    }
    return answers
  }

  async #stop(state: 'parked' | 'paused', reason: string): Promise<void> {
    this.#askIdentityAt = Number.NEGATIVE_INFINITY
    await stopAccount(this.#o.db, this.#o.account, state, reason, RETRY_MS)
    this.#o.log.error(
      { account: this.#o.account },
      `account ${this.#o.account} is ${state}: ${reason}. Deliveries are still taken; it tries again every 15 minutes`,
    )
  }
}

/** Whether it is known who we are; `stopped`: the account was, for what was found. */
type Identity = 'known' | 'unknown' | 'stopped'

const WAVE_REASON = 'many submissions that were read before are suddenly not found'
const REFUSED_REASON = 'the service accepts the credentials, but refuses every read'

/** What a submission was answered with. */
interface Answered {
  readonly kind: UpstreamClass | 'read'
  readonly said: string
}

/** @returns the last refusal when nothing else came, "not found" left aside; null otherwise: what does not answer now has not refused. */
function refusalIn(answers: readonly Answered[]): string | null {
  const told = answers.filter(({ kind }) => kind !== 'gone')
  return told.every(({ kind }) => kind === 'auth') ? (told.at(-1)?.said ?? null) : null
}
