import type { Clock } from '../../base/clock.ts'
import type { Observer } from '../../base/observer.ts'
import type { Db } from '../../store/engine/db.ts'
import { type ActionDetail, type AuditEntry, auditAction, auditedDb, noteFollowing } from '../../store/operators/actions.ts'

/** Dependencies and actor of an action. */
export interface ActionContext {
  readonly db: Db
  readonly clock: Clock
  /** Aborts when the process stops. Committed steps are kept. */
  readonly signal: AbortSignal
  readonly observer: Observer
  /** Token name, or `command`, for the audit entry. */
  readonly who: string
}

/** Result of audited work. */
export interface Attempted {
  readonly detail: ActionDetail
  readonly failed?: boolean
}

/** Runs work outside the database and audits its start and end; see `auditAction`. */
export type Attempt = <T extends Attempted>(note: Omit<AuditEntry, 'who'>, work: () => Promise<T>) => Promise<T>

export function attemptsOf({ db, who }: Pick<ActionContext, 'db' | 'who'>): Attempt {
  return (note, work) => auditAction(db, { ...note, who }, work)
}

/** Pause between an action's transactions, so that `serve` isn't delayed. */
const PAUSE_MS = 10

/** Calls `work` with at most `size` items at a time, with pauses in between. */
export async function inSteps<T>(a: ActionContext, items: readonly T[], size: number, work: (step: readonly T[]) => Promise<void>) {
  for (let from = 0; from < items.length; from += size) {
    a.signal.throwIfAborted()
    await work(items.slice(from, from + size))
    if (from + size < items.length) await a.clock.sleep(PAUSE_MS, a.signal)
  }
  a.signal.throwIfAborted()
}

/** Calls `work` until it returns null, with pauses between calls. `after` starts at 0, then is the previous result. */
export async function untilDone(a: ActionContext, work: (after: number) => Promise<number | null>): Promise<void> {
  for (let after: number | null = 0; after !== null; ) {
    a.signal.throwIfAborted()
    after = await work(after)
    if (after !== null) await a.clock.sleep(PAUSE_MS, a.signal)
  }
}

/** @returns the number of ids and the first 20, for an audit entry. */
export function idsForAudit(ids: readonly string[]): { readonly ids: readonly string[]; readonly count: number } {
  return { ids: ids.slice(0, 20).map((id) => id.slice(0, 100)), count: ids.length }
}

/** @returns a filter without undefined fields, for an audit entry. */
export function filterForAudit(filter: object): ActionDetail {
  const narrowing = Object.entries(filter).filter(([, value]) => value !== undefined)
  return Object.fromEntries(narrowing.map(([name, value]) => [name, String(value)]))
}

/** Audits the display of unmasked values. Call this before displaying any value. */
export async function noteShowing(a: ActionContext, action: string, target: string | null, detail: ActionDetail): Promise<void> {
  await auditedDb(a.db, { who: a.who, action, target, detail }).write('showing-noted', async () => undefined)
}

/** Like `noteShowing`, for the pages of one list: at most one entry per hour. */
export async function notePageShown(a: ActionContext, action: string, target: string | null, detail: ActionDetail): Promise<void> {
  await noteFollowing(a.db, { who: a.who, action, target, detail })
}
