import type { Clock } from '../base/clock.ts'
import { BusyError, messageOf, TransientError } from '../base/errors.ts'
import type { Service } from '../base/service.ts'
import { type TimeText, timeFromMs } from '../model/time.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import { LONG_PAUSE_MS, listPauses, savePause } from '../store/reads/pauses.ts'
import type { PauseWatch, UpstreamClient } from '../upstream/client.ts'
import type { Pause } from '../upstream/http/channel.ts'

const EXCHANGE_MS = 5_000

type Clients = ReadonlyMap<string, Pick<UpstreamClient, 'joinPause'>>

export interface AccountPausesOptions extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly clients: () => Clients
  /**
   * Called for an account's first pause. Also called for each pause that ends more than a minute after the end of the
   * last reported pause.
   * @param ms length of the pause.
   */
  readonly report: (account: string, sentence: string, ms: number) => void
}

/**
 * Stores the pauses that the service requests (trap 49). Operators and other processes can then see the pauses,
 * also after a restart.
 */
export class AccountPauses implements Service, PauseWatch {
  readonly name = 'pauses'
  readonly #o: AccountPausesOptions
  #unsaved = new Map<string, { readonly until: number; readonly reason: string }>()
  /** End of the last reported pause of each account, by the steady clock. */
  readonly #reportedUntil = new Map<string, number>()

  constructor(options: AccountPausesOptions) {
    this.#o = options
  }

  began(account: string, pause: Pause): void {
    this.#unsaved.set(account, { until: this.#o.clock.steady() + pause.ms, reason: pause.reason })
    this.#report(account, pause)
    void this.write()
  }

  async run(signal: AbortSignal): Promise<void> {
    for (; !signal.aborted; await this.#o.clock.sleep(EXCHANGE_MS, signal)) await this.exchange()
    await this.write()
  }

  /**
   * Writes unsaved pauses, and applies the pauses that other processes stored. If the database fails, the
   * next call retries.
   */
  async exchange(clients = this.#o.clients()): Promise<void> {
    const { db, log } = this.#o
    await this.write()
    try {
      for (const pause of await listPauses(db.read)) {
        const client = clients.get(pause.account)
        if (client === undefined) continue
        client.joinPause(pause)
        this.#report(pause.account, pause)
      }
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      log.debug({ err: error }, `the pauses of other processes could not be read: ${messageOf(error)}`)
    }
  }

  /** Writes unsaved pauses. Never rejects. */
  async write(): Promise<void> {
    const { db, clock, log } = this.#o
    const unsaved = this.#unsaved
    this.#unsaved = new Map()
    for (const [account, pause] of unsaved) {
      try {
        const ms = pause.until - clock.steady()
        if (ms > 0) await savePause(db, account, { ms, reason: pause.reason })
      } catch (error) {
        if (!this.#unsaved.has(account)) this.#unsaved.set(account, pause)
        log.debug({ account, err: error }, `the pause of account ${account} could not be saved: ${messageOf(error)}`)
      }
    }
  }

  #report(account: string, { ms, reason }: Pause): void {
    const { clock, report } = this.#o
    const until = clock.steady() + ms
    if (until <= (this.#reportedUntil.get(account) ?? Number.NEGATIVE_INFINITY) + LONG_PAUSE_MS) return
    this.#reportedUntil.set(account, until)
    report(account, pauseText(account, timeFromMs(clock.now() + ms), reason), ms)
  }
}

/** @returns the error for a command that would have to wait too long. */
export function longPause(account: string, until: TimeText, reason: string): BusyError {
  return new BusyError(`${pauseText(account, until, reason)}; run the command again then`)
}

function pauseText(account: string, until: TimeText, reason: string): string {
  return `account ${account} waits until ${until.slice(0, 19)}Z: ${reason}`
}

/** Lets a command wait for the end of a short pause. @throws BusyError if the pause is longer than a minute. */
export async function waitForPause(
  { account, client, clock }: { readonly account: string; readonly client: UpstreamClient; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const pause = client.pause()
  if (pause === null) return
  if (pause.ms > LONG_PAUSE_MS) throw longPause(account, timeFromMs(clock.now() + pause.ms), pause.reason)
  await clock.sleep(pause.ms, signal)
}
