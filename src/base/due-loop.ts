import { LeaseLostError, messageOf } from './errors.ts'
import type { Log } from './log.ts'
import type { Service } from './service.ts'

/**
 * Runs one piece of claimed work.
 * @param release gives the claim back, so that other processes needn't wait until the lease ends. Called if `work`
 * throws, except if the lease was lost.
 * @returns the result of `work`; `lost` if another process took over the claim.
 * @throws the error of `work`, after `release`.
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

/** A service that claims due work in small batches and runs each batch, until the signal of `run` aborts. */
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
      // While stopping, errors are expected, because the abort cancels requests in flight.
      if (!signal.aborted) throw error
    }
  }

  /** Called once at each start, before the first claim. */
  protected abstract begin(signal: AbortSignal): Promise<void>
  /** @returns claimed work; an empty list if nothing is due or allowed now. */
  protected abstract claim(signal: AbortSignal): Promise<readonly Claim[]>
  protected abstract carryOut(claim: Claim, signal: AbortSignal): Promise<unknown>
  protected abstract release(claim: Claim): Promise<unknown>
  /** Called if nothing was claimed. Resolves when work may be due. */
  protected abstract rest(signal: AbortSignal): Promise<void>
}
