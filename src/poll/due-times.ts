import type { Clock } from '../base/clock.ts'
import type { Service } from '../base/service.ts'
import { whenAborted } from '../base/when-aborted.ts'
import type { Db } from '../store/engine/db.ts'
import { checkedIntervals, type MaxIntervals, saveCheckedIntervals, shortenDueTimes } from '../store/reads/due-times.ts'
import { type PollPolicy, readIntervalMs, replayIntervalMs } from './intervals.ts'

/** Reads in one transaction. */
const STEP = 300
/** Pause between steps, which leaves the database to others. */
const PAUSE_MS = 20
export interface AccountDueTimesOptions {
  readonly db: Db
  readonly clock: Clock
  readonly account: string
  readonly policy: PollPolicy
}

export type DueTimesOptions = Omit<AccountDueTimesOptions, 'account'> & { readonly accounts: readonly string[] }

/** Applies shorter settings to stored due times, once after a start or a reload. */
export class DueTimes implements Service {
  readonly name = 'due times'
  readonly #o: DueTimesOptions

  constructor(options: DueTimesOptions) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    for (const account of this.#o.accounts) await capDueTimes({ ...this.#o, account }, signal)
    await whenAborted(signal)
  }
}

/**
 * Applies a shorter `POLL_*` or `REPLAY_*` to stored due times. It scans them only if a setting has become shorter since the last scan, so the
 * cost of a normal startup does not depend on the number of submissions.
 */
export async function capDueTimes(o: AccountDueTimesOptions, signal: AbortSignal): Promise<void> {
  const settings = new Map([...entriesOf('poll', o.policy.poll), ...entriesOf('replay', o.policy.replay)])
  const checked = await checkedIntervals(o.db.read, o.account)
  const changed = [...settings].filter(([name, ms]) => checked.get(name) !== ms)
  if (changed.some(([name, ms]) => ms < (checked.get(name) ?? Number.POSITIVE_INFINITY))) await shortenAll(o, signal)
  if (changed.length > 0 && !signal.aborted) await saveCheckedIntervals(o.db, o.account, settings)
}

async function shortenAll(o: AccountDueTimesOptions, signal: AbortSignal): Promise<void> {
  const longest = maxIntervals(o.policy)
  for (let after: string | null = ''; after !== null && !signal.aborted; ) {
    after = await shortenDueTimes(o.db, o.account, after, STEP, longest)
    await o.clock.sleep(PAUSE_MS, signal)
  }
}

/** The longest waits of reads. Jitter only shortens. */
export function maxIntervals(policy: PollPolicy): MaxIntervals {
  const noJitter = { random: () => 0 }
  return (quietMs, read) => ({
    pollMs: readIntervalMs(policy, read, quietMs, noJitter),
    replayMs: replayIntervalMs(policy, quietMs, noJitter),
  })
}

function entriesOf(prefix: string, settings: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(settings).map(([name, ms]) => [`${prefix}.${name}`, ms])
}
