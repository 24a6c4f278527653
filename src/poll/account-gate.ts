import { inApplyTransaction } from '../apply/apply.ts'
import { messageOf } from '../base/errors.ts'
import { settingsFingerprint } from '../config/same-settings.ts'
import type { Fact } from '../model/facts.ts'
import { isDetail } from '../model/reads.ts'
import { timeFromMs } from '../model/time.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import { unreachableSince, wasUnreachable } from '../store/mirror/submissions.ts'
import { countReadSubmissions, resetNotFound, sampleReadSubmissions, sampleUnreadSubmissions } from '../store/reads/account-reads.ts'
import { findAccount, isRetryDue, noteIdentityFault, pinBrokerage, resumeAccount, stopAccount } from '../store/reads/accounts.ts'
import type { ReadClaim } from '../store/reads/claims.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { AuthRefusedError, UpstreamPermanentError, upstreamClass } from '../upstream/http/errors.ts'
import type { ClaimedReadEnd } from './claimed-read.ts'
import { NotFoundWave, WAVE_WINDOW_MS } from './not-found-wave.ts'
import { probe, refusalIn, someSubmissions } from './probe.ts'
import { Refusals, submissionsToProbe } from './refusals.ts'

/** How long an account stays stopped before it is checked again. */
const RETRY_MS = 900_000
/** Wait after `GET /broker/me` failed; reads go on meanwhile. So far apart, too, are the two refusals that suspend an account. */
const IDENTITY_RETRY_MS = 60_000
const IDENTITY_EVERY_MS = 3_600_000
/** How long the first read of a process waits for the identity of a pinned account. */
const FIRST_IDENTITY_WAIT_MS = 30_000
/** Pauses between those attempts: from 1 s, doubling to this. */
const FIRST_IDENTITY_PAUSE_MAX_MS = 8_000
/** Submissions probed to see whether a stopped account may be read again. */
const SAMPLE = 5
/** Known submissions to choose from when looking for some that were not refused. */
const KNOWN = 20

export interface GateOptions extends ServiceParts {
  readonly account: string
  readonly client: UpstreamClient
  /** `accessOf` the account: after a change a stopped account is tried again. Left out where none is configured. */
  readonly access?: unknown
}

/**
 * Decides whether an account may be read. An account is
 * - `active`: its reads are made;
 * - `suspended`: its credentials were refused, or every read made with them (trap 43). A token endpoint that refuses them suspends it at once. Where
 *   it grants a token which the service then refuses, a second new token has to be refused a minute later: a single answer may be a fault;
 * - `paused`: the credentials belong to another brokerage than the pinned one, or submissions that were known are suddenly "not found".
 * A stopped account sends no request before `retry_at`. Then it checks its identity once, and probes some submissions if it was stopped
 * because of them. If all is well, it is active again.
 */
export class AccountGate {
  readonly #o: GateOptions
  readonly #wave: NotFoundWave
  readonly #refusals = new Refusals()
  /** Whether a wave is pausing the account, or has paused it; null when neither. */
  #wavePause: 'pausing' | 'paused' | null = null
  #checkIdentityAt = Number.NEGATIVE_INFINITY
  /** When, by the steady clock, the service first refused a new token without having taken one since; null: it does not. */
  #refusedAt: number | null = null
  /** Whether this process has learned the account's identity, or has waited for it in vain. */
  #hasCheckedIdentity = false

  constructor(options: GateOptions) {
    this.#o = options
    this.#wave = new NotFoundWave(options.clock)
  }

  /** @returns true when the account must not be read now. */
  async isClosed(signal: AbortSignal): Promise<boolean> {
    const { db, account, clock } = this.#o
    const row = await findAccount(db.read, account)
    if (row === null || row.state === 'active') {
      if (this.#wavePause === 'paused') this.#wavePause = null
      if (clock.steady() < this.#checkIdentityAt) return false
      return (await this.#checkIdentityPatiently(row?.brokerage ?? null, signal)) === 'stopped' || (await this.#suspendIfAllRefused(signal))
    }
    this.#refusals.clear()
    if (!(await isRetryDue(db.read, account))) return true
    const identity = await this.#checkIdentity(row.brokerage, signal, true)
    if (identity === 'stopped') return true
    if (identity === 'unknown' || (await this.#isStillStopped(row.reason ?? '', signal))) {
      await stopAccount(db, account, row.state, row.reason ?? '', RETRY_MS, await this.#refusedWith())
      return true
    }
    this.#wave.clear()
    await resumeAccount(db, account)
    this.#wavePause = null
    this.#o.log.info({ account }, `account ${account} is active again`)
    return false
  }

  /** Notes how a read ended. @param begunAt when it began, in ms since the epoch. @returns whether the account is now paused. */
  async note(claim: Pick<ReadClaim, 'submissionId' | 'read' | 'lastReadAt'>, end: ClaimedReadEnd, begunAt: number): Promise<boolean> {
    if (end === 'refused') this.#noteRefused(claim.submissionId)
    // A service may refuse the main reads and still answer the others.
    if (isDetail(claim.read)) return false
    if (end === 'read' || end === 'stalled') this.#refusals.clear()
    if (claim.lastReadAt === null) return false
    if (end === 'read') this.#wave.note(claim.submissionId, claim.read, false)
    return end === 'gone' && this.#noteGone(claim, begunAt)
  }

  /**
   * After a refused read, the identity is checked at once. Only if that is refused too are the credentials bad: a single read may be refused
   * for reasons of its own. Many refused reads in a row are investigated.
   */
  #noteRefused(submissionId: string): void {
    if (this.#refusedAt === null) this.#checkIdentityAt = Number.NEGATIVE_INFINITY
    this.#refusals.note(submissionId)
  }

  async #noteGone({ submissionId, read }: Pick<ReadClaim, 'submissionId' | 'read'>, begunAt: number): Promise<boolean> {
    const { db, account } = this.#o
    const wasUnreachableBefore = await wasUnreachable(db.read, account, submissionId, timeFromMs(begunAt))
    const known = await countReadSubmissions(db.read, account, 10)
    // Reads that were in flight when the account was paused belong to the same wave.
    if (this.#wavePause !== null) {
      this.#wave.join(submissionId)
      await this.#undoMarks([submissionId])
      return true
    }
    // A submission that already counted as gone before this read says nothing new.
    if (wasUnreachableBefore) return false
    this.#wave.note(submissionId, read, true)
    if (!this.#wave.isWave(known)) return false
    await this.#pauseForWave()
    return true
  }

  async #pauseForWave(): Promise<void> {
    const missing = this.#wave.take()
    this.#wavePause = 'pausing'
    try {
      await this.#stop('paused', `${WAVE_REASON}, which looks like a wrong credential; check which brokerage it belongs to`)
      await this.#undoMarks(missing)
      this.#wavePause = 'paused'
    } catch (error) {
      // The database was down and the account is not paused. The same submissions may form a wave again.
      this.#wave.reset()
      this.#wavePause = null
      throw error
    }
  }

  /** Removes `unreachable_since` from the submissions of a wave, and resets its counts of "not found" (trap 48). */
  async #undoMarks(missing: readonly string[]): Promise<void> {
    const { db, account, clock, observer } = this.#o
    const since = timeFromMs(clock.now() - WAVE_WINDOW_MS)
    const marked = await unreachableSince(db.read, account, missing, since)
    const facts = marked.map((submissionId): Fact => ({ kind: 'reach', account, submissionId, cause: 'poll', unreachableSince: null }))
    await inApplyTransaction(db, observer, 'wave-undone', (transaction) => transaction.apply(facts))
    await resetNotFound(db, account)
  }

  /**
   * Checks the identity, and at the first check of a process retries for a while: credentials of another brokerage may know the same
   * submissions, as a copy of production does. A service that never tells the identity stops nothing (trap 46).
   */
  async #checkIdentityPatiently(pinned: string | null, signal: AbortSignal): Promise<Identity> {
    const { clock, client } = this.#o
    const until = clock.steady() + FIRST_IDENTITY_WAIT_MS
    let identity = await this.#checkIdentity(pinned, signal)
    // In a pause that the service asked for nothing is sent, so this waits for its end, as reads do.
    if (identity === 'unknown' && client.pause() !== null) return identity
    const mustRetry = () => identity === 'unknown' && pinned !== null && !this.#hasCheckedIdentity && clock.steady() < until
    for (let pauseMs = 1_000; mustRetry(); pauseMs = Math.min(2 * pauseMs, FIRST_IDENTITY_PAUSE_MAX_MS)) {
      await clock.sleep(pauseMs, signal)
      identity = await this.#checkIdentity(pinned, signal)
    }
    this.#hasCheckedIdentity = true
    return identity
  }

  /** @param isStopped the account is stopped already: then one refusal keeps it so. */
  async #checkIdentity(pinned: string | null, signal: AbortSignal, isStopped = false): Promise<Identity> {
    const { db, account, client, clock, log } = this.#o
    try {
      const identity = await client.me(signal)
      const { brokerage } = identity
      this.#refusedAt = null
      if (pinned !== null && pinned !== brokerage) {
        await this.#stop(
          'paused',
          `the credentials belong to brokerage ${brokerage}, but this account holds the data of ${pinned}. Configure them as an account of their own`,
        )
        return 'stopped'
      }
      await pinBrokerage(db, account, identity)
      this.#checkIdentityAt = clock.steady() + IDENTITY_EVERY_MS
      return 'known'
    } catch (error) {
      const kind = upstreamClass(error)
      if (kind === null || signal.aborted) throw error
      if (await this.#areCredentialsRefused(error, isStopped, signal)) {
        const check = 'check client id, secret and base URL'
        await this.#stop('suspended', `${CREDENTIALS_REFUSED} (${messageOf(error)}); ${check}`)
        return 'stopped'
      }
      if (error instanceof UpstreamPermanentError) await noteIdentityFault(db, account, error.what)
      const pause = client.pause()
      this.#checkIdentityAt = clock.steady() + (pause?.ms ?? IDENTITY_RETRY_MS)
      if (pause !== null) return 'unknown'
      log.warn(
        { account, err: error },
        `the identity of account ${account} could not be checked (${messageOf(error)}); reads go on, next attempt in ${IDENTITY_RETRY_MS / 1000} s`,
      )
      return 'unknown'
    }
  }

  /** Whether a failed identity check says that the credentials are no good, and not only this one answer. */
  async #areCredentialsRefused(error: unknown, isStopped: boolean, signal: AbortSignal): Promise<boolean> {
    if (error instanceof AuthRefusedError) return true
    const kind = upstreamClass(error)
    const isRefused = kind === 'auth' || ((kind === 'rejected' || kind === 'gone') && (await this.#areReadsRefused(signal)))
    if (!isRefused || isStopped) return isRefused
    const now = this.#o.clock.steady()
    this.#refusedAt ??= now
    return now - this.#refusedAt >= IDENTITY_RETRY_MS
  }

  /** After many refusals in a row, probes submissions that were not refused. If all are refused, suspends the account. @returns whether it did. */
  async #suspendIfAllRefused(signal: AbortSignal): Promise<boolean> {
    const refused = this.#refusals.take()
    if (refused === null) return false
    const { db, account, client } = this.#o
    const refusal = refusalIn(await probe(client, submissionsToProbe(refused, await someSubmissions(db.read, account, KNOWN)), signal))
    if (refusal === null) return false
    await this.#stop(
      'suspended',
      `${REFUSED_REASON} (${refusal}); check that the key has the scope broker_mcp and belongs to this brokerage`,
    )
    return true
  }

  /** Whether the reason for which the account was stopped still holds. */
  async #isStillStopped(reason: string, signal: AbortSignal): Promise<boolean> {
    const { db, account, client } = this.#o
    if (reason.startsWith(REFUSED_REASON))
      return refusalIn(await probe(client, await someSubmissions(db.read, account, SAMPLE), signal)) !== null
    if (!reason.startsWith(WAVE_REASON)) return false
    // All submissions that were read may have been removed. New ones still show whether the account may be read.
    const known = [...(await sampleReadSubmissions(db.read, account, SAMPLE)), ...(await sampleUnreadSubmissions(db.read, account, SAMPLE))]
    const answers = await probe(client, [...new Set(known)], signal)
    return !answers.some(({ kind }) => kind === 'read')
  }

  /**
   * Whether reads of known submissions are refused, too. The specification does not say with which status `/broker/me` answers for credentials
   * that are no longer active; a 404 or 422 of that path alone says nothing of them.
   */
  async #areReadsRefused(signal: AbortSignal): Promise<boolean> {
    const { db, account, client } = this.#o
    const answers = await probe(client, await someSubmissions(db.read, account, SAMPLE), signal)
    return answers.length > 0 && answers.every(({ kind }) => kind === 'auth' || kind === 'rejected' || kind === 'gone')
  }

  async #refusedWith(): Promise<string | null> {
    const { access } = this.#o
    return access === undefined ? null : await settingsFingerprint(access)
  }

  async #stop(state: 'suspended' | 'paused', reason: string): Promise<void> {
    this.#checkIdentityAt = Number.NEGATIVE_INFINITY
    this.#refusedAt = null
    const { db, account, log } = this.#o
    // Reads end first: the fingerprint takes time to compute.
    await stopAccount(db, account, state, reason, RETRY_MS, null)
    const refusedWith = await this.#refusedWith()
    if (refusedWith !== null) await stopAccount(db, account, state, reason, RETRY_MS, refusedWith)
    log.error(
      { account },
      `account ${account} is ${state}: ${reason}. Deliveries are still received; the account is checked again every ${RETRY_MS / 60_000} minutes`,
    )
  }
}

/** Outcome of an identity check; `stopped`: the check stopped the account. */
type Identity = 'known' | 'unknown' | 'stopped'

const WAVE_REASON = 'many submissions that were read before are suddenly not found'
/** How the reason of an account begins whose credentials were refused. */
export const CREDENTIALS_REFUSED = 'the service refuses the credentials'
const REFUSED_REASON = 'the service accepts the credentials, but refuses every read'
