import type { Clock } from '../base/clock.ts'
import { BusyError, messageOf, TransientError } from '../base/errors.ts'
import type { Service } from '../base/service.ts'
import { type TimeText, timeFromMs } from '../model/time.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import { LONG_PAUSE_MS, listPauses, savePause } from '../store/reads/pauses.ts'
import type { PauseWatch, UpstreamClient } from '../upstream/client.ts'
import type { Pause } from '../upstream/http/channel.ts'

/** How often the pauses that other processes met are looked for. */
const EXCHANGE_MS = 5_000

/** By account. */
type Clients = ReadonlyMap<string, Pick<UpstreamClient, 'joinPause'>>

export interface AccountPausesOptions extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  /** The clients in use now. */
  readonly clients: () => Clients
  /** Told of a pause when it begins, or becomes longer by more than a minute. @param ms its length. */
  readonly tell: (account: string, sentence: string, ms: number) => void
}

/**
 * Shares the pauses that the service asks for (trap 49): keeps those of this process in the database, for operators, other processes and the
 * next start, and has the clients of this process make those of others.
 */
export class AccountPauses implements Service, PauseWatch {
  readonly name = 'pauses'
  readonly #o: AccountPausesOptions
  #unsaved = new Map<string, { readonly until: number; readonly reason: string }>()
  /** The end, by the steady clock, of the pause that was told last. */
  readonly #told = new Map<string, number>()

  constructor(options: AccountPausesOptions) {
    this.#o = options
  }

  began(account: string, pause: Pause): void {
    this.#unsaved.set(account, { until: this.#o.clock.steady() + pause.ms, reason: pause.reason })
    this.#tell(account, pause)
    void this.write()
  }

  async run(signal: AbortSignal): Promise<void> {
    for (; !signal.aborted; await this.#o.clock.sleep(EXCHANGE_MS, signal)) await this.exchange()
    await this.write()
  }

  /** Writes what could not be written before, and has the clients make every pause in force. While the database is down the next call does it. */
  async exchange(clients = this.#o.clients()): Promise<void> {
    const { db, log } = this.#o
    await this.write()
    try {
      for (const pause of await listPauses(db.read)) {
        const client = clients.get(pause.account)
        if (client === undefined) continue
        client.joinPause(pause)
        this.#tell(pause.account, pause)
      }
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      log.debug({ err: error }, `the pauses that other processes met could not be read: ${messageOf(error)}`)
    }
  }

  /** Writes the pauses that began. Never rejects. */
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
        log.debug({ account, err: error }, `the pause of account ${account} could not be kept: ${messageOf(error)}`)
      }
    }
  }

  #tell(account: string, { ms, reason }: Pause): void {
    const { clock, tell } = this.#o
    const until = clock.steady() + ms
    if (until <= (this.#told.get(account) ?? Number.NEGATIVE_INFINITY) + LONG_PAUSE_MS) return
    this.#told.set(account, until)
    tell(account, pauseText(account, timeFromMs(clock.now() + ms), reason), ms)
  }
}

/** @returns why a command does not wait for the end of a pause, and what to do. */
export function longPause(account: string, until: TimeText, reason: string): BusyError {
  return new BusyError(`${pauseText(account, until, reason)}; run the command again then`)
}

/** @returns until when an account waits, and why, without a full stop. */
function pauseText(account: string, until: TimeText, reason: string): string {
  return `account ${account} waits until ${until.slice(0, 19)}Z: ${reason}`
}

/**
 * For commands: waits for the end of a short pause that the service asked for.
 * @throws BusyError in a long one.
 */
export async function waitForPause(
  { account, client, clock }: { readonly account: string; readonly client: UpstreamClient; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const pause = client.pause()
  if (pause === null) return
  if (pause.ms > LONG_PAUSE_MS) throw longPause(account, timeFromMs(clock.now() + pause.ms), pause.reason)
  await clock.sleep(pause.ms, signal)
}
