import type { Clock } from '../clock.ts'
import type { Db } from '../store/db.ts'
import { checkedWaits, noteCheckedWaits, shortenWaits, waitsBeyond } from '../store/waits.ts'
import { type PollPolicy, pollIntervalMs, replayIntervalMs } from './intervals.ts'

/** Reads looked at in one transaction. */
const STEP = 300
/** Longer than any backoff, so that what fails is not taken for put off wrongly. */
const FAR_MS = 86_400_000
/** Between two steps others get the database. */
const PAUSE_MS = 20

export interface WaitsOptions {
  readonly db: Db
  readonly clock: Clock
  readonly account: string
  readonly policy: PollPolicy
}

/**
 * Lets a shorter `POLL_*` or `REPLAY_*` take effect on due times that are stored already, and puts right those that a clock which ran
 * ahead has left. It looks at them only when one of the settings has become shorter since they were looked at last, or one lies further off
 * than any may, so that a start costs the same however many submissions there are.
 */
export async function capWaits(o: WaitsOptions, signal: AbortSignal): Promise<void> {
  const settings = new Map([...entriesOf('poll', o.policy.poll), ...entriesOf('replay', o.policy.replay)])
  const checked = await checkedWaits(o.db.read, o.account)
  const changed = [...settings].filter(([name, ms]) => checked.get(name) !== ms)
  const isShorter = changed.some(([name, ms]) => ms < (checked.get(name) ?? Number.POSITIVE_INFINITY))
  if (isShorter || (await waitsBeyond(o.db.read, o.account, FAR_MS + Math.max(...Object.values(o.policy.poll)))))
    await shortenAll(o, signal)
  if (changed.length > 0 && !signal.aborted) await noteCheckedWaits(o.db, o.account, settings)
}

async function shortenAll(o: WaitsOptions, signal: AbortSignal): Promise<void> {
  // Jitter only shortens, so the longest that a wait may be is the one without.
  const steady: Clock = { now: () => o.clock.now(), random: () => 0, sleep: (ms, abort) => o.clock.sleep(ms, abort) }
  const longest = (quietMs: number) => ({
    pollMs: pollIntervalMs(o.policy, quietMs, steady),
    replayMs: replayIntervalMs(o.policy, quietMs, steady),
  })
  for (let after: string | null = ''; after !== null && !signal.aborted; ) {
    after = await shortenWaits(o.db, o.account, after, STEP, longest)
    await o.clock.sleep(PAUSE_MS, signal)
  }
}

function entriesOf(prefix: string, settings: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(settings).map(([name, ms]) => [`${prefix}.${name}`, ms])
}
