import { LeaseLostError, messageOf } from './errors.ts'
import type { Log } from './log.ts'
import type { Service } from './service.ts'

/**
 * Does one piece of claimed work.
 * @param release gives the claim back.
 * @returns what `work` returns; `lost` when another process holds the claim now.
 * @throws what `work` throws, once the claim is given back: nobody waits for its lease to end.
 */
export async function doClaimed<T>(log: Log, work: () => Promise<T>, release: () => Promise<unknown>): Promise<T | 'lost'> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LeaseLostError) {
      log.info(messageOf(error))
      return 'lost'
    }
    await release().catch((second: unknown) => log.debug({ err: second }, messageOf(second)))
    throw error
  }
}

/** Claims work that has come due, a few pieces at a time, and does it until it is stopped. */
export abstract class DueLoop<Claim> implements Service {
  readonly name: string
  readonly #log: Log

  constructor(name: string, log: Log) {
    this.name = name
    this.#log = log
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.begin(signal)
      while (!signal.aborted) {
        const claims = await this.claim(signal)
        if (claims.length === 0) await this.rest(signal)
        const ends = await Promise.allSettled(
          claims.map((claim) =>
            doClaimed(
              this.#log,
              () => this.carryOut(claim, signal),
              () => this.release(claim),
            ),
          ),
        )
        for (const end of ends) if (end.status === 'rejected') throw end.reason
      }
    } catch (error) {
      // Stopping aborts the requests in flight.
      if (!signal.aborted) throw error
    }
  }

  /** Comes first, at each start. */
  protected abstract begin(signal: AbortSignal): Promise<void>
  /** @returns claimed work; nothing when none is due, or none may be done now. */
  protected abstract claim(signal: AbortSignal): Promise<readonly Claim[]>
  /** Does a piece of work and settles it. */
  protected abstract carryOut(claim: Claim, signal: AbortSignal): Promise<unknown>
  protected abstract release(claim: Claim): Promise<unknown>
  /** Resolves when there may be something to do. */
  protected abstract rest(signal: AbortSignal): Promise<void>
}
