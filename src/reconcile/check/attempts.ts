import { backoffMs, type Clock } from '../../base/clock.ts'
import { messageOf, retryAfterOf } from '../../base/errors.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { AuthRefusedError, isForbidden, type UpstreamClass, UpstreamPermanentError, upstreamClass } from '../../upstream/http/errors.ts'

/**
 * Limits of one read of state, or of one page of a feed. A feed is read from the beginning at most `MAX_ATTEMPTS`
 * times.
 */
const MAX_ATTEMPTS = 3
const MAX_ELAPSED_MS = 20_000
const BACKOFF_BASE_MS = 500
const BACKOFF_CAP_MS = 8_000
/**
 * Maximum total of requested pauses (`Retry-After`) for one read or one feed, in ms. If the total is reached, another
 * requested pause makes the read fail. A pause is never cut short, because the pause applies to all reads of the
 * account.
 */
const MAX_PAUSED_MS = 900_000

/**
 * Why a read failed or can't be used. Usually, `class` is the result of `upstreamClass` for the error. The other
 * classes are:
 * - `cursor`: the service rejected a cursor that it had sent
 * - `stalled`: the feed read stopped before the end of the feed, or the end is unconfirmed
 * - `overtaken`: a later state read was applied first
 * - `unconfirmed`: a 404 that may be temporary
 */
export interface Failure {
  readonly class: UpstreamClass | 'cursor' | 'stalled' | 'overtaken' | 'unconfirmed'
  readonly reason: string
  readonly attempts: number
  /** True if the service refused only this request, for example with 403, and not the token or the credentials. */
  readonly isForbidden?: boolean
}

export type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure }

/** A feed read stopped before the end of the feed, or the end is unconfirmed. For example, a cursor repeated. */
export class StalledError extends Error {}

class PageError extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.reason)
    this.failure = failure
  }
}

/**
 * Runs `read`, with retries. A pause that the service requests doesn't count as an attempt.
 * @param pauses sum of the requested pauses so far, in ms. Updated here, and shared by all pages of a feed.
 * @throws AuthRefusedError if the service rejects the account's credentials; database errors; the abort
 * reason of `signal`.
 */
export async function attempt<T>(
  clock: Clock,
  client: UpstreamClient,
  signal: AbortSignal,
  read: () => Promise<T>,
  pauses = { ms: 0 },
): Promise<Attempt<T>> {
  const startedAt = clock.steady()
  const pausedBefore = pauses.ms
  for (let attempts = 1; ; ) {
    try {
      return { ok: true, value: await read() }
    } catch (error) {
      const kind = upstreamClass(error)
      if (kind === null || signal.aborted || error instanceof AuthRefusedError) throw error
      const failure: Failure = {
        class: isCursorRefused(error) ? 'cursor' : kind,
        reason: messageOf(error),
        attempts,
        isForbidden: isForbidden(error),
      }
      // The service would reject the same cursor again.
      if (failure.class === 'cursor') return { ok: false, failure }
      const asked = Math.max(retryAfterOf(error), client.waitMs())
      if (kind === 'throttled' || client.pause() !== null) {
        const waitMs = Math.max(asked, BACKOFF_BASE_MS)
        if (pauses.ms >= MAX_PAUSED_MS) return { ok: false, failure }
        pauses.ms += waitMs
        await clock.sleep(waitMs, signal)
      } else {
        const waitMs = Math.max(asked, backoffMs(clock, attempts, BACKOFF_BASE_MS, BACKOFF_CAP_MS))
        const paused = pauses.ms - pausedBefore
        if (attempts >= MAX_ATTEMPTS || clock.steady() + waitMs - paused > startedAt + MAX_ELAPSED_MS) return { ok: false, failure }
        attempts += 1
        await clock.sleep(waitMs, signal)
      }
      signal.throwIfAborted()
    }
  }
}

/**
 * Reads a feed, with retries of each page. If the service rejects a cursor or the feed stalls, reads the feed again
 * from the beginning.
 * @throws the errors of `attempt`.
 */
export async function attemptFeed<T>(
  clock: Clock,
  client: UpstreamClient,
  signal: AbortSignal,
  read: (client: UpstreamClient) => Promise<T>,
): Promise<Attempt<T>> {
  const retrying = retryingEachPage(clock, client, signal)
  for (let attempts = 1; ; attempts += 1) {
    try {
      return { ok: true, value: await read(retrying) }
    } catch (error) {
      if (signal.aborted) throw error
      const failure = failureOf(error)
      if (failure === null) throw error
      if (failure.class !== 'cursor' && failure.class !== 'stalled') return { ok: false, failure }
      if (attempts >= MAX_ATTEMPTS) return { ok: false, failure: { ...failure, attempts } }
      await clock.sleep(backoffMs(clock, attempts, BACKOFF_BASE_MS, BACKOFF_CAP_MS), signal)
      signal.throwIfAborted()
    }
  }
}

function retryingEachPage(clock: Clock, client: UpstreamClient, signal: AbortSignal): UpstreamClient {
  const pauses = { ms: 0 }
  const page = async <T>(read: () => Promise<T>): Promise<T> => {
    const result = await attempt(clock, client, signal, read, pauses)
    if (!result.ok) throw new PageError(result.failure)
    return result.value
  }
  return {
    ...client,
    events: (...args) => page(() => client.events(...args)),
    thread: (...args) => page(() => client.thread(...args)),
  }
}

function failureOf(error: unknown): Failure | null {
  if (error instanceof PageError) return error.failure
  return error instanceof StalledError ? { class: 'stalled', reason: error.message, attempts: 1 } : null
}

function isCursorRefused(error: unknown): boolean {
  return error instanceof UpstreamPermanentError && error.rejectedWithCursor
}
