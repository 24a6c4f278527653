import { throughDoor } from '../apply/apply.ts'
import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Fact } from '../model/facts.ts'
import { timeFromMs } from '../model/time.ts'
import type { Observer } from '../observe.ts'
import { findAccount, pinBrokerage, resumeAccount, stopAccount } from '../store/accounts.ts'
import type { Db } from '../store/db.ts'
import { forgiveMisses, readBefore, sampleRead } from '../store/reads-of-account.ts'
import { unreachableSince } from '../store/submissions.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { upstreamClass } from '../upstream/errors.ts'
import { GoneWave, WAVE_WINDOW_MS } from './gone-wave.ts'

/** A stopped account tries again by itself after this long. */
export const RETRY_MS = 900_000
/** While the service cannot be asked who we are, it is asked again after this long; reading goes on. */
const ASK_AGAIN_MS = 60_000

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
 * - `parked`: its credentials were refused; the service is not asked again before `retry_at` (trap 43);
 * - `paused`: the credentials belong to another brokerage than the one pinned, or all that was known is suddenly "not found".
 * From `retry_at` on, identity (and after a wave some submissions) is asked for once; if all is well the account is active again.
 */
export class AccountGate {
  readonly #o: GateOptions
  readonly #wave: GoneWave
  /** The pause after a wave: being made, or made; null when there is none. */
  #wavePause: 'under way' | 'made' | null = null
  #askIdentityAt = 0

  constructor(options: GateOptions) {
    this.#o = options
    this.#wave = new GoneWave(options.clock)
  }

  /** @returns 0 when the account may be read now, else for how many milliseconds it need not be asked again. */
  async closedForMs(signal: AbortSignal): Promise<number> {
    const { db, account, clock } = this.#o
    const row = await findAccount(db.read, account)
    if (row === null || row.state === 'active') {
      if (this.#wavePause === 'made') this.#wavePause = null
      if (clock.now() < this.#askIdentityAt) return 0
      return (await this.#identify(row?.brokerage ?? null, signal)) === 'stopped' ? RETRY_MS : 0
    }
    const waitMs = row.retry_at === null ? 0 : Date.parse(row.retry_at) - clock.now()
    if (waitMs > 0) return waitMs
    const identity = await this.#identify(row.brokerage, signal)
    if (identity === 'stopped') return RETRY_MS
    if (identity === 'unknown' || (row.reason?.startsWith(WAVE_REASON) && !(await this.#anyIsBack(signal)))) {
      await stopAccount(db, account, row.state === 'parked' ? 'parked' : 'paused', row.reason ?? '', RETRY_MS)
      return RETRY_MS
    }
    this.#wave.clear()
    await resumeAccount(db, account)
    this.#o.log.info({ account }, `account ${account} is active again`)
    return 0
  }

  /**
   * A read was refused: the service is asked at once who we are. Only when that is refused too are the credentials no longer good; one
   * read alone may be refused for reasons of its own, and goes on failing alone.
   */
  doubt(): void {
    this.#askIdentityAt = 0
  }

  /** Notes whether a submission was found. @returns whether the account is now paused. */
  async note(submissionId: string, wasReadBefore: boolean, gone: boolean): Promise<boolean> {
    if (!wasReadBefore) return false
    // What was under way when the account was paused is part of the same wave.
    if (gone && this.#wavePause !== null) {
      await this.#takeBack([submissionId])
      return true
    }
    this.#wave.note(submissionId, gone)
    if (!gone || !this.#wave.isWave(await readBefore(this.#o.db.read, this.#o.account, 10))) return false
    await this.#pauseForWave()
    return true
  }

  async #pauseForWave(): Promise<void> {
    const missing = this.#wave.gone()
    this.#wave.clear()
    this.#wavePause = 'under way'
    try {
      await this.#stop('paused', `${WAVE_REASON}, which looks like a wrong credential; check which brokerage it belongs to`)
      await this.#takeBack(missing)
    } finally {
      this.#wavePause = 'made'
    }
  }

  /** A wave marks nothing: what it has confirmed already is unmarked, and what it has not is forgotten. */
  async #takeBack(missing: readonly string[]): Promise<void> {
    const { db, account, clock, observer } = this.#o
    const since = timeFromMs(clock.now() - WAVE_WINDOW_MS)
    const marked = await unreachableSince(db.read, account, missing, since)
    const facts = marked.map((submissionId): Fact => ({ kind: 'reach', account, submissionId, cause: 'poll', unreachableSince: null }))
    await throughDoor(db, observer, 'wave-taken-back', (door) => door.apply(facts))
    await forgiveMisses(db, account)
  }

  async #identify(pinned: string | null, signal: AbortSignal): Promise<'known' | 'unknown' | 'stopped'> {
    const { db, account, client, clock, log } = this.#o
    try {
      const identity = await client.me(signal)
      const { brokerage } = identity
      if (pinned !== null && pinned !== brokerage) {
        await this.#stop(
          'paused',
          `the credentials belong to brokerage ${brokerage}, but this account holds the data of ${pinned}; give them an account of their own`,
        )
        return 'stopped'
      } else {
        await pinBrokerage(db, account, brokerage, identity.clientId)
      }
      this.#askIdentityAt = clock.now() + RETRY_MS * 4
      return 'known'
    } catch (error) {
      const kind = upstreamClass(error)
      if (kind === null || signal.aborted) throw error
      if (kind === 'auth' || kind === 'rejected' || kind === 'gone') {
        await this.#park(error)
        return 'stopped'
      }
      this.#askIdentityAt = clock.now() + ASK_AGAIN_MS
      log.warn({ account, err: error }, `the service could not be asked whose credentials these are: ${messageOf(error)}`)
      return 'unknown'
    }
  }

  /** Whether at least one of some submissions that were read before is found again. */
  async #anyIsBack(signal: AbortSignal): Promise<boolean> {
    for (const submissionId of await sampleRead(this.#o.db.read, this.#o.account, 5)) {
      try {
        await this.#o.client.requirements(submissionId, signal)
        return true
      } catch (error) {
        if (upstreamClass(error) === null || signal.aborted) throw error
      }
    }
    return false
  }

  /** The credentials were refused: nothing is asked until they had time to be mended. */
  async #park(error: unknown): Promise<void> {
    await this.#stop('parked', `the service refuses the credentials (${messageOf(error)}); set a valid client id and secret`)
  }

  async #stop(state: 'parked' | 'paused', reason: string): Promise<void> {
    this.#askIdentityAt = 0
    await stopAccount(this.#o.db, this.#o.account, state, reason, RETRY_MS)
    this.#o.log.error(
      { account: this.#o.account },
      `account ${this.#o.account} is ${state}: ${reason}. Deliveries are still taken; it tries again every 15 minutes`,
    )
  }
}

const WAVE_REASON = 'many submissions that were read before are suddenly not found'
