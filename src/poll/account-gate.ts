import { inApplyTransaction } from '../apply/apply.ts'
import { messageOf } from '../base/errors.ts'
import { settingsFingerprint } from '../config/same-settings.ts'
import type { Observation } from '../model/observations.ts'
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

const RETRY_MS = 900_000
/** Wait after a failed `GET /broker/me`. If the request is refused again after this time, the account is suspended. */
const IDENTITY_RETRY_MS = 60_000
const IDENTITY_EVERY_MS = 3_600_000
/**
 * Longest wait for the account's identity before the first read of this process.
 * If the database doesn't have the account's brokerage yet, reading begins after one check.
 */
const FIRST_IDENTITY_WAIT_MS = 30_000
const FIRST_IDENTITY_PAUSE_MS = 1_000
const FIRST_IDENTITY_PAUSE_MAX_MS = 8_000
const SAMPLE = 5
const KNOWN = 20

export interface GateOptions extends ServiceParts {
  readonly account: string
  readonly client: UpstreamClient
  /**
   * The account's base URL, credentials, and scope (see `accessOf`). After a change, the next start or reload checks
   * a stopped account immediately.
   */
  readonly access?: unknown
}

/**
 * Decides whether an account may be read. The account's state is one of these:
 * - `active`: the account is read.
 * - `suspended`: the service rejected the credentials or all reads (trap 43). If it rejects the token exchange, the
 *   account is suspended immediately. If it rejects a token, the account is suspended only after a second rejection a
 *   minute later, because a single rejection may be a fault.
 * - `paused`: the credentials belong to another brokerage, or many known submissions are suddenly "not found".
 * For a stopped account, nothing is sent before `retry_at`. Then the gate checks the account's identity. If refused or
 * missing submissions were the reason for the stop, the gate also reads some submissions.
 */
export class AccountGate {
  readonly #o: GateOptions
  readonly #wave: NotFoundWave
  readonly #refusals = new Refusals()
  /** Progress of a pause that many 404s caused; null: no such pause. */
  #wavePause: 'pausing' | 'paused' | null = null
  #checkIdentityAt = Number.NEGATIVE_INFINITY
  /** Steady-clock time of the first refusal since the last successful identity check; null: no refusal. */
  #refusedAt: number | null = null
  /** True if this process knows the account's identity, or has stopped waiting for the identity. */
  #hasCheckedIdentity = false

  constructor(options: GateOptions) {
    this.#o = options
    this.#wave = new NotFoundWave(options.clock)
  }

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
    const identity = await this.#checkIdentity(row.brokerage, signal, () => RETRY_MS, true)
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

  /**
   * Records the result of a read.
   * @param begunAt start of the read, in ms since the epoch.
   * @returns true if the account is now paused.
   */
  async note(claim: Pick<ReadClaim, 'submissionId' | 'read' | 'lastReadAt'>, end: ClaimedReadEnd, begunAt: number): Promise<boolean> {
    if (end === 'refused') this.#noteRefused(claim.submissionId)
    // Ignore all other results of detail reads (`outstanding`, `workspace`, `sessions`). Only reads of feeds and
    // requirements show whether submissions may be read.
    if (isDetail(claim.read)) return false
    if (end === 'read' || end === 'stalled') this.#refusals.clear()
    if (claim.lastReadAt === null) return false
    if (end === 'read') this.#wave.note(claim.submissionId, claim.read, false)
    return end === 'gone' && this.#noteGone(claim, begunAt)
  }

  /**
   * Counts consecutive refused reads, which `#suspendIfAllRefused` investigates. The first refused read also requests
   * an identity check. The credentials count as bad only if that check is refused too.
   */
  #noteRefused(submissionId: string): void {
    if (this.#refusedAt === null) this.#checkIdentityAt = Number.NEGATIVE_INFINITY
    this.#refusals.note(submissionId)
  }

  async #noteGone({ submissionId, read }: Pick<ReadClaim, 'submissionId' | 'read'>, begunAt: number): Promise<boolean> {
    const { db, account } = this.#o
    const wasUnreachableBefore = await wasUnreachable(db.read, account, submissionId, timeFromMs(begunAt))
    const known = await countReadSubmissions(db.read, account, 10)
    // This read was in flight when the pause began, so it belongs to the same wave of 404s.
    if (this.#wavePause !== null) {
      this.#wave.join(submissionId)
      await this.#undoMarks([submissionId])
      return true
    }
    // A submission that was unreachable before this read isn't part of a wave.
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
      // A write failed, so the account may still be active. After `reset`, the same submissions can form a wave again.
      this.#wave.reset()
      this.#wavePause = null
      throw error
    }
  }

  /** Removes `unreachable_since` from the submissions of a wave, and resets their counts of 404s (trap 48). */
  async #undoMarks(missing: readonly string[]): Promise<void> {
    const { db, account, clock, observer } = this.#o
    const since = timeFromMs(clock.now() - WAVE_WINDOW_MS)
    const marked = await unreachableSince(db.read, account, missing, since)
    const observations = marked.map(
      (submissionId): Observation => ({ kind: 'reach', account, submissionId, cause: 'poll', unreachableSince: null }),
    )
    await inApplyTransaction(db, observer, 'wave-undone', (transaction) => transaction.apply(observations))
    await resetNotFound(db, account)
  }

  /**
   * Checks the identity. The first check of a process is retried for a while, and reading waits for the result.
   * Otherwise, wrong credentials could mix another brokerage's data into the account. Both brokerages may have the same
   * submission ids, as in a copy of production.
   * If the service never returns the identity, reading continues (trap 46).
   */
  async #checkIdentityPatiently(pinned: string | null, signal: AbortSignal): Promise<Identity> {
    const { clock, client } = this.#o
    const until = clock.steady() + FIRST_IDENTITY_WAIT_MS
    let pauseMs = FIRST_IDENTITY_PAUSE_MS
    const canRetry = () => pinned !== null && !this.#hasCheckedIdentity && clock.steady() < until
    const waitMs = () => (canRetry() ? pauseMs : IDENTITY_RETRY_MS)
    let identity = await this.#checkIdentity(pinned, signal, waitMs)
    // Don't retry during a pause, because the client then sends nothing.
    if (identity === 'unknown' && client.pause() !== null) return identity
    while (identity === 'unknown' && canRetry()) {
      await clock.sleep(pauseMs, signal)
      pauseMs = Math.min(2 * pauseMs, FIRST_IDENTITY_PAUSE_MAX_MS)
      identity = await this.#checkIdentity(pinned, signal, waitMs)
    }
    this.#hasCheckedIdentity = true
    return identity
  }

  /**
   * @param waitMs returns the wait until the next check, for the log.
   * @param isStopped true if the account is already stopped. One refusal is then enough.
   */
  async #checkIdentity(pinned: string | null, signal: AbortSignal, waitMs: () => number, isStopped = false): Promise<Identity> {
    const { db, account, client, clock, log } = this.#o
    try {
      const identity = await client.me(signal)
      const { brokerage } = identity
      this.#refusedAt = null
      if (pinned !== null && pinned !== brokerage) {
        await this.#stop(
          'paused',
          `the credentials belong to brokerage ${brokerage}, but this account holds the data of ${pinned}. Configure them as a separate account`,
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
        `the identity of account ${account} could not be checked (${messageOf(error)}); ${isStopped ? 'the account stays stopped' : 'reading continues'}, next check in ${waitMs() / 1000} s`,
      )
      return 'unknown'
    }
  }

  /** True if a failed identity check means bad credentials. False if it may be a single bad answer. */
  async #areCredentialsRefused(error: unknown, isStopped: boolean, signal: AbortSignal): Promise<boolean> {
    if (error instanceof AuthRefusedError) return true
    const kind = upstreamClass(error)
    const isRefused = kind === 'auth' || ((kind === 'rejected' || kind === 'gone') && (await this.#areReadsRefused(signal)))
    if (!isRefused || isStopped) return isRefused
    const now = this.#o.clock.steady()
    this.#refusedAt ??= now
    return now - this.#refusedAt >= IDENTITY_RETRY_MS
  }

  /**
   * After many consecutive refusals, reads the submissions that `submissionsToProbe` chooses. If the service
   * refuses these reads too, suspends the account.
   * @returns true if the account was suspended.
   */
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

  async #isStillStopped(reason: string, signal: AbortSignal): Promise<boolean> {
    const { db, account, client } = this.#o
    if (reason.startsWith(REFUSED_REASON))
      return refusalIn(await probe(client, await someSubmissions(db.read, account, SAMPLE), signal)) !== null
    if (!reason.startsWith(WAVE_REASON)) return false
    // Also read submissions that were never read before, because all other submissions may be gone.
    const known = [...(await sampleReadSubmissions(db.read, account, SAMPLE)), ...(await sampleUnreadSubmissions(db.read, account, SAMPLE))]
    const answers = await probe(client, [...new Set(known)], signal)
    return !answers.some(({ kind }) => kind === 'read')
  }

  /**
   * True if reads of known submissions are refused too. A 404 or 422 of `/broker/me` alone means nothing, because the
   * specification doesn't define which status `/broker/me` returns for inactive credentials.
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
    // The first write stops the reads immediately. The second write adds a fingerprint, which takes time to compute.
    await stopAccount(db, account, state, reason, RETRY_MS, null)
    const refusedWith = await this.#refusedWith()
    if (refusedWith !== null) await stopAccount(db, account, state, reason, RETRY_MS, refusedWith)
    log.error(
      { account },
      `account ${account} is ${state}: ${reason}. Deliveries are still received; the account is checked again every ${RETRY_MS / 60_000} minutes`,
    )
  }
}

/** Result of an identity check. `stopped`: the check stopped the account. */
type Identity = 'known' | 'unknown' | 'stopped'

const WAVE_REASON = 'many submissions that were read before are suddenly not found'
/** Reasons for a suspension begin with this text if the credentials are refused. */
export const CREDENTIALS_REFUSED = 'the service rejects the credentials'
const REFUSED_REASON = 'the service accepts the credentials, but rejects every read'
