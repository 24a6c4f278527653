import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../base/service.ts'
import type { Db } from '../store/engine/db.ts'
import { checkedIntervals, isDueBeyond, saveCheckedIntervals, shortenDueTimes } from '../store/reads/due-times.ts'
import { type PollPolicy, pollIntervalMs, replayIntervalMs } from './intervals.ts'

/** Reads in one transaction. */
const STEP = 300
/** Longer than any backoff, so that failing reads are not mistaken for wrong due times. */
const FAR_MS = 86_400_000
/** Pause between steps, which leaves the database to others. */
const PAUSE_MS = 20
/** How often the clock is checked. */
const CHECK_MS = 10_000
/** Smaller corrections are normal and lengthen no wait noticeably. */
const SET_BACK_MS = 5_000

export interface AccountDueTimesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly account: string
  readonly policy: PollPolicy
}

export type DueTimesOptions = Omit<AccountDueTimesOptions, 'account'> & { readonly accounts: readonly string[]; readonly log: Log }

/**
 * Caps stored due times at startup and whenever the machine's clock is set back. Otherwise reads scheduled while the clock ran ahead would
 * wait until it reaches that time again.
 */
export class DueTimes implements Service {
  readonly name = 'due times'
  readonly #o: DueTimesOptions
  /** Difference between the wall clock and the steady clock at the last check. */
  #lead: number

  constructor(options: DueTimesOptions) {
    this.#o = options
    this.#lead = this.#leadNow()
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#cap(false, signal)
    while (!signal.aborted) {
      const lead = this.#leadNow()
      const backMs = this.#lead - lead
      if (backMs > SET_BACK_MS) {
        this.#o.log.warn(
          `the clock of this machine was set back by ${Math.round(backMs / 1000)} s; reads that would wait too long are moved forward`,
        )
        await this.#cap(true, signal)
      }
      this.#lead = lead
      await this.#o.clock.sleep(CHECK_MS, signal)
    }
  }

  async #cap(wasSetBack: boolean, signal: AbortSignal): Promise<void> {
    for (const account of this.#o.accounts) await capDueTimes({ ...this.#o, account }, wasSetBack, signal)
  }

  #leadNow(): number {
    return this.#o.clock.now() - this.#o.clock.steady()
  }
}

/**
 * Applies a shorter `POLL_*` or `REPLAY_*` to stored due times, and corrects those that a fast clock has left. It scans them only if the
 * clock was set back, a setting has become shorter since the last scan, or a due time lies further ahead than any can. So the cost of a
 * normal startup does not depend on the number of submissions.
 */
export async function capDueTimes(o: AccountDueTimesOptions, wasSetBack: boolean, signal: AbortSignal): Promise<void> {
  const settings = new Map([...entriesOf('poll', o.policy.poll), ...entriesOf('replay', o.policy.replay)])
  const checked = await checkedIntervals(o.db.read, o.account)
  const changed = [...settings].filter(([name, ms]) => checked.get(name) !== ms)
  const isShorter = changed.some(([name, ms]) => ms < (checked.get(name) ?? Number.POSITIVE_INFINITY))
  if (wasSetBack || isShorter || (await isDueBeyond(o.db.read, o.account, FAR_MS + Math.max(...Object.values(o.policy.poll)))))
    await shortenAll(o, signal)
  if (changed.length > 0 && !signal.aborted) await saveCheckedIntervals(o.db, o.account, settings)
}

async function shortenAll(o: AccountDueTimesOptions, signal: AbortSignal): Promise<void> {
  // Jitter only shortens, so the longest wait is the one without jitter.
  const noJitter = { random: () => 0 }
  const longest = (quietMs: number) => ({
    pollMs: pollIntervalMs(o.policy, quietMs, noJitter),
    replayMs: replayIntervalMs(o.policy, quietMs, noJitter),
  })
  for (let after: string | null = ''; after !== null && !signal.aborted; ) {
    after = await shortenDueTimes(o.db, o.account, after, STEP, longest)
    await o.clock.sleep(PAUSE_MS, signal)
  }
}

function entriesOf(prefix: string, settings: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(settings).map(([name, ms]) => [`${prefix}.${name}`, ms])
}
