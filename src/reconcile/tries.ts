import { backoffMs, type Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { AuthRefusedError, type UpstreamClass, upstreamClass } from '../upstream/errors.ts'

/** A read that fails is tried so often within so long, then it is reported (design, "The contract"). */
const TRIES = 3
const WITHIN_MS = 20_000
const BASE_MS = 500
const CAP_MS = 8_000
/** A pause that the service asks for is no failure of the read, but nobody waits for ever. */
const PAUSES_MS = 900_000

/** Why a read could not be made. */
export interface Failure {
  readonly class: UpstreamClass | 'stalled'
  readonly reason: string
}

export type Tried<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure }

/** The feed was read, but gives the same cursor again and again. */
export class StalledError extends Error {}

/**
 * Makes a read, again when it fails. While the service asks for a pause it is left alone, and that counts as no try.
 * @throws AuthRefusedError when the account's credentials are refused; what the store throws; the reason of `signal` when it aborts.
 */
export async function tried<T>(clock: Clock, client: UpstreamClient, signal: AbortSignal, read: () => Promise<T>): Promise<Tried<T>> {
  const startedAt = clock.now()
  let pausedMs = 0
  for (let tries = 1; ; ) {
    try {
      return { ok: true, value: await read() }
    } catch (error) {
      const kind = error instanceof StalledError ? 'stalled' : upstreamClass(error)
      if (kind === null || signal.aborted || error instanceof AuthRefusedError) throw error
      const failure: Failure = { class: kind, reason: messageOf(error) }
      const asked = Math.max(retryAfterOf(error), client.waitMs())
      if (kind === 'throttled') {
        const waitMs = Math.max(asked, BASE_MS)
        pausedMs += waitMs
        if (pausedMs > PAUSES_MS) return { ok: false, failure }
        await clock.sleep(waitMs, signal)
      } else {
        const waitMs = Math.max(asked, BASE_MS + backoffMs(clock, tries, BASE_MS, CAP_MS))
        if (tries >= TRIES || clock.now() + waitMs - pausedMs > startedAt + WITHIN_MS) return { ok: false, failure }
        tries += 1
        await clock.sleep(waitMs, signal)
      }
      signal.throwIfAborted()
    }
  }
}

function retryAfterOf(error: unknown): number {
  return error instanceof Error && 'retryAfterMs' in error && typeof error.retryAfterMs === 'number' ? error.retryAfterMs : 0
}
