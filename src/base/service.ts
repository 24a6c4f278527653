import { backoffMs, type Clock } from './clock.ts'
import { FatalError, messageOf, TransientError } from './errors.ts'
import type { Log } from './log.ts'

/**
 * A long-running part of the product. `run` works until `signal` aborts. Then it finishes work in flight and resolves.
 * If `run` rejects, the supervisor restarts the service with backoff. A FatalError ends the process.
 */
export interface Service {
  readonly name: string
  run(signal: AbortSignal): Promise<void>
}

const RESTART_BASE_MS = 200
const RESTART_CAP_MS = 30_000
/**
 * Longest restart delay after a temporary fault, such as an unreachable database. A short delay keeps recovery fast.
 */
const TRANSIENT_CAP_MS = 2_000
/** From this attempt on, failures are logged at most once a minute. */
const OFTEN = 6
/** If a service ran longer than this before it failed, the restart backoff begins again. */
const HEALTHY_AFTER_MS = 60_000

/**
 * Runs `service` until `signal` aborts, and restarts it after failures.
 * @throws the FatalError of `service`, if any.
 */
export async function supervise(service: Service, clock: Clock, log: Log, signal: AbortSignal): Promise<void> {
  let attempt = 0
  let loggedAt = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    const startedAt = clock.steady()
    try {
      await service.run(signal)
      if (signal.aborted) return
      throw new Error(`${service.name} ended early`)
    } catch (error) {
      if (error instanceof FatalError) throw error
      if (signal.aborted) return
      attempt = clock.steady() - startedAt > HEALTHY_AFTER_MS ? 0 : attempt + 1
      const waitMs = backoffMs(clock, attempt, RESTART_BASE_MS, error instanceof TransientError ? TRANSIENT_CAP_MS : RESTART_CAP_MS)
      if (attempt < OFTEN || clock.steady() - loggedAt >= HEALTHY_AFTER_MS) {
        log.error({ service: service.name, err: error, waitMs }, `${service.name} failed and will be restarted: ${messageOf(error)}`)
        loggedAt = clock.steady()
      }
      await clock.sleep(waitMs, signal)
    }
  }
}

/**
 * Repeats `work` until `signal` aborts.
 * @param afterStartMs pause before the first run, in milliseconds.
 * @param work returns the pause before the next run, in milliseconds.
 */
export async function repeat(clock: Clock, signal: AbortSignal, afterStartMs: number, work: () => Promise<number>): Promise<void> {
  await clock.sleep(afterStartMs, signal)
  while (!signal.aborted) await clock.sleep(await work(), signal)
}
