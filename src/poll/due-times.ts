import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../base/service.ts'
import type { Db } from '../store/engine/db.ts'
import { checkedIntervals, isDueBeyond, saveCheckedIntervals, shortenDueTimes } from '../store/reads/due-times.ts'
import { type PollPolicy, pollIntervalMs, replayIntervalMs } from './intervals.ts'

/** Reads looked at in one transaction. */
const STEP = 300
/** Longer than any backoff, so that what fails is not taken for put off wrongly. */
const FAR_MS = 86_400_000
/** Between two steps others get the database. */
const PAUSE_MS = 20
/** Whether the clock was put back is looked at so often. */
const LOOK_MS = 10_000
/** By less a clock is corrected all the time, and no wait is much longer for it. */
const PUT_BACK_MS = 5_000

export interface AccountDueTimesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly account: string
  readonly policy: PollPolicy
}

export type DueTimesOptions = Omit<AccountDueTimesOptions, 'account'> & { readonly accounts: readonly string[]; readonly log: Log }

/**
 * Puts due times that are stored right, at the start and whenever the clock was put back: what it had put off while it ran ahead would
 * else wait until it has come there again.
 */
export class DueTimes implements Service {
  readonly name = 'due times'
  readonly #o: DueTimesOptions
  /** How far the clock was ahead of the steady one when the stored times were right. */
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
      if (backMs > PUT_BACK_MS) {
        this.#o.log.warn(
          `the clock of this machine was put back by ${Math.round(backMs / 1000)} s; reads that wait for longer than they may are made sooner`,
        )
        await this.#cap(true, signal)
      }
      this.#lead = lead
      await this.#o.clock.sleep(LOOK_MS, signal)
    }
  }

  async #cap(wasPutBack: boolean, signal: AbortSignal): Promise<void> {
    for (const account of this.#o.accounts) await capDueTimes({ ...this.#o, account }, wasPutBack, signal)
  }

  #leadNow(): number {
    return this.#o.clock.now() - this.#o.clock.steady()
  }
}

/**
 * Lets a shorter `POLL_*` or `REPLAY_*` take effect on due times that are stored already, and puts right those that a clock which ran
 * ahead has left. It looks at them only when the clock was put back, one of the settings has become shorter since they were looked at last, or
 * one lies further off than any may, so that a start costs the same however many submissions there are.
 */
export async function capDueTimes(o: AccountDueTimesOptions, wasPutBack: boolean, signal: AbortSignal): Promise<void> {
  const settings = new Map([...entriesOf('poll', o.policy.poll), ...entriesOf('replay', o.policy.replay)])
  const checked = await checkedIntervals(o.db.read, o.account)
  const changed = [...settings].filter(([name, ms]) => checked.get(name) !== ms)
  const isShorter = changed.some(([name, ms]) => ms < (checked.get(name) ?? Number.POSITIVE_INFINITY))
  if (wasPutBack || isShorter || (await isDueBeyond(o.db.read, o.account, FAR_MS + Math.max(...Object.values(o.policy.poll)))))
    await shortenAll(o, signal)
  if (changed.length > 0 && !signal.aborted) await saveCheckedIntervals(o.db, o.account, settings)
}

async function shortenAll(o: AccountDueTimesOptions, signal: AbortSignal): Promise<void> {
  // Jitter only shortens, so the longest that a wait may be is the one without.
  const longestChance = { random: () => 0 }
  const longest = (quietMs: number) => ({
    pollMs: pollIntervalMs(o.policy, quietMs, longestChance),
    replayMs: replayIntervalMs(o.policy, quietMs, longestChance),
  })
  for (let after: string | null = ''; after !== null && !signal.aborted; ) {
    after = await shortenDueTimes(o.db, o.account, after, STEP, longest)
    await o.clock.sleep(PAUSE_MS, signal)
  }
}

function entriesOf(prefix: string, settings: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(settings).map(([name, ms]) => [`${prefix}.${name}`, ms])
}
