import type { Clock } from '../../base/clock.ts'
import type { Observer } from '../../base/observer.ts'
import type { Db } from '../../store/engine/db.ts'
import { type ActionDetail, type AuditEntry, auditAction, auditedDb, noteFollowing } from '../../store/operators/actions.ts'

/** The services that an action uses, and who runs the action. */
export interface ActionContext {
  readonly db: Db
  readonly clock: Clock
  /** Aborts when the process stops. Committed steps stay in the database. */
  readonly signal: AbortSignal
  readonly observer: Observer
  /** Who runs the action, for the audit entry: a token's name, or `command` for the terminal. */
  readonly who: string
}

/** Result of audited work. `detail` goes into the audit entry. `failed` marks the entry as failed. */
export interface Attempted {
  readonly detail: ActionDetail
  readonly failed?: boolean
}

/** Runs work that is more than one transaction. Audits the start and the outcome of the work; see `auditAction`. */
export type Attempt = <T extends Attempted>(note: Omit<AuditEntry, 'who'>, work: () => Promise<T>) => Promise<T>

export function attemptsOf({ db, who }: Pick<ActionContext, 'db' | 'who'>): Attempt {
  return (note, work) => auditAction(db, { ...note, who }, work)
}

/** Pause in ms between two transactions of an action. Without pauses, the action would block writes of `serve`. */
const PAUSE_MS = 10

/** Calls `work` with at most `size` items at a time. Pauses between the calls. */
export async function inSteps<T>(a: ActionContext, items: readonly T[], size: number, work: (step: readonly T[]) => Promise<void>) {
  for (let from = 0; from < items.length; from += size) {
    a.signal.throwIfAborted()
    await work(items.slice(from, from + size))
    if (from + size < items.length) await a.clock.sleep(PAUSE_MS, a.signal)
  }
  a.signal.throwIfAborted()
}

/**
 * Calls `work` until the result is null. Pauses between the calls.
 * @param work gets 0 in the first call, then the result of the previous call.
 */
export async function untilDone(a: ActionContext, work: (after: number) => Promise<number | null>): Promise<void> {
  for (let after: number | null = 0; after !== null; ) {
    a.signal.throwIfAborted()
    after = await work(after)
    if (after !== null) await a.clock.sleep(PAUSE_MS, a.signal)
  }
}

/** @returns `ids`, the first 20 ids, and `count`, the number of all ids, for an audit entry. */
export function idsForAudit(ids: readonly string[]): { readonly ids: readonly string[]; readonly count: number } {
  return { ids: ids.slice(0, 20).map((id) => id.slice(0, 100)), count: ids.length }
}

/** @returns the filter as texts without undefined fields, for an audit entry. */
export function filterForAudit(filter: object): ActionDetail {
  const narrowing = Object.entries(filter).filter(([, value]) => value !== undefined)
  return Object.fromEntries(narrowing.map(([name, value]) => [name, String(value)]))
}

/** Records in the audit trail that a person sees unmasked values. Call this function before showing the values. */
export async function noteShowing(a: ActionContext, action: string, target: string | null, detail: ActionDetail): Promise<void> {
  await auditedDb(a.db, { who: a.who, action, target, detail }).write('showing-noted', async () => undefined)
}

/** Like `noteShowing`, for one page of a list. Pages of the same list within an hour share one audit entry. */
export async function notePageShown(a: ActionContext, action: string, target: string | null, detail: ActionDetail): Promise<void> {
  await noteFollowing(a.db, { who: a.who, action, target, detail })
}
