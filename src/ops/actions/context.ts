import type { Clock } from '../../base/clock.ts'
import type { Observer } from '../../base/observer.ts'
import type { Db } from '../../store/engine/db.ts'

/** Who acts, and with what. */
export interface ActionContext {
  readonly db: Db
  readonly clock: Clock
  /** Aborts when the process is to stop; what was done until then stays. */
  readonly signal: AbortSignal
  readonly observer: Observer
  /** For the note that the action leaves: the name of a token, or `command`. */
  readonly who: string
}

/** Between two transactions of one action: a running serve goes first. */
const PAUSE_MS = 10

/** Hands `items` to `work` in steps, with a pause after each but the last. */
export async function inSteps<T>(
  a: ActionContext,
  items: readonly T[],
  size: number,
  work: (step: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < items.length; from += size) {
    a.signal.throwIfAborted()
    await work(items.slice(from, from + size))
    if (from + size < items.length) await a.clock.sleep(PAUSE_MS, a.signal)
  }
  a.signal.throwIfAborted()
}

/** Calls `work` with where the step begins, from 0 on, until it says null; with a pause after each but the last. */
export async function untilDone(a: ActionContext, work: (after: number) => Promise<number | null>): Promise<void> {
  for (let after: number | null = 0; after !== null; ) {
    a.signal.throwIfAborted()
    after = await work(after)
    if (after !== null) await a.clock.sleep(PAUSE_MS, a.signal)
  }
}

/** Ids as a note keeps them: how many, and the first of them. */
export function idsForAudit(ids: readonly string[]): { readonly ids: readonly string[]; readonly count: number } {
  return { ids: ids.slice(0, 20).map((id) => id.slice(0, 100)), count: ids.length }
}
