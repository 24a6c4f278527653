import { backoffMs, type Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { AuthRefusedError, type UpstreamClass, UpstreamPermanentError, upstreamClass } from '../../upstream/http/errors.ts'

/** A read that fails is tried so often within so long, then it is reported (design, "The contract"). Each page of a feed is a read. */
const TRIES = 3
const WITHIN_MS = 20_000
const BASE_MS = 500
const CAP_MS = 8_000
/** A pause that the service asks for is no failure of the read, but nobody waits for ever, for a whole feed neither. */
const PAUSES_MS = 900_000

/**
 * Why a read could not be made, or not be used. `cursor`: the one that the page before gave is refused. `stalled`: it is given again and
 * again. `overtaken`: the state, of which a later read was applied first.
 */
export interface Failure {
  readonly class: UpstreamClass | 'cursor' | 'stalled' | 'overtaken'
  readonly reason: string
  /** How often it was tried. */
  readonly tries: number
}

export type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure }

/** The feed was read, but gives the same cursor again and again. */
export class StalledError extends Error {}

/** A page could not be read. */
class PageError extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.reason)
    this.failure = failure
  }
}

/**
 * Makes a read, again when it fails. While the service asks for a pause it is left alone, and that counts as no try.
 * @param pauses how long it has been left alone already; it is raised.
 * @throws AuthRefusedError when the account's credentials are refused; what the store throws; the reason of `signal` when it aborts.
 */
export async function attempt<T>(
  clock: Clock,
  client: UpstreamClient,
  signal: AbortSignal,
  read: () => Promise<T>,
  pauses = { ms: 0 },
): Promise<Attempt<T>> {
  const startedAt = clock.now()
  const pausedBefore = pauses.ms
  for (let tries = 1; ; ) {
    try {
      return { ok: true, value: await read() }
    } catch (error) {
      const kind = upstreamClass(error)
      if (kind === null || signal.aborted || error instanceof AuthRefusedError) throw error
      const failure: Failure = { class: isOfCursor(error) ? 'cursor' : kind, reason: messageOf(error), tries }
      // It will be refused again.
      if (failure.class === 'cursor') return { ok: false, failure }
      const asked = Math.max(retryAfterOf(error), client.waitMs())
      if (kind === 'throttled') {
        const waitMs = Math.max(asked, BASE_MS)
        pauses.ms += waitMs
        if (pauses.ms > PAUSES_MS) return { ok: false, failure }
        await clock.sleep(waitMs, signal)
      } else {
        const waitMs = Math.max(asked, backoffMs(clock, tries, BASE_MS, CAP_MS))
        const paused = pauses.ms - pausedBefore
        if (tries >= TRIES || clock.now() + waitMs - paused > startedAt + WITHIN_MS) return { ok: false, failure }
        tries += 1
        await clock.sleep(waitMs, signal)
      }
      signal.throwIfAborted()
    }
  }
}

/**
 * Reads a feed whose pages are tried one by one: however long the feed, a page that fails is tried again as often as every other read. A
 * feed that leads nowhere is begun anew.
 * @param read gets the client to read with.
 * @throws as `tried`.
 */
export async function attemptFeed<T>(
  clock: Clock,
  client: UpstreamClient,
  signal: AbortSignal,
  read: (client: UpstreamClient) => Promise<T>,
): Promise<Attempt<T>> {
  const patient = byPage(clock, client, signal)
  for (let tries = 1; ; tries += 1) {
    try {
      return { ok: true, value: await read(patient) }
    } catch (error) {
      if (signal.aborted) throw error
      const failure = failureOf(error)
      if (failure === null) throw error
      if (failure.class !== 'cursor' && failure.class !== 'stalled') return { ok: false, failure }
      if (tries >= TRIES) return { ok: false, failure: { ...failure, tries } }
      await clock.sleep(backoffMs(clock, tries, BASE_MS, CAP_MS), signal)
      signal.throwIfAborted()
    }
  }
}

function byPage(clock: Clock, client: UpstreamClient, signal: AbortSignal): UpstreamClient {
  const pauses = { ms: 0 }
  const page = async <T>(read: () => Promise<T>): Promise<T> => {
    const got = await attempt(clock, client, signal, read, pauses)
    if (!got.ok) throw new PageError(got.failure)
    return got.value
  }
  return {
    ...client,
    events: (...asked) => page(() => client.events(...asked)),
    thread: (...asked) => page(() => client.thread(...asked)),
  }
}

function failureOf(error: unknown): Failure | null {
  if (error instanceof PageError) return error.failure
  return error instanceof StalledError ? { class: 'stalled', reason: error.message, tries: 1 } : null
}

function isOfCursor(error: unknown): boolean {
  return error instanceof UpstreamPermanentError && error.rejectedWithCursor
}

function retryAfterOf(error: unknown): number {
  return error instanceof Error && 'retryAfterMs' in error && typeof error.retryAfterMs === 'number' ? error.retryAfterMs : 0
}
