import type { Clock } from '../../base/clock.ts'
import type { Observer } from '../../base/observer.ts'
import type { Db } from '../../store/engine/db.ts'
import { type ActionDetail, type AuditEntry, auditAction, auditedDb, noteFollowing } from '../../store/operators/actions.ts'

/** What an action works with, and who runs it. */
export interface ActionContext {
  readonly db: Db
  readonly clock: Clock
  /** Aborts when the process stops; steps that are committed stay. */
  readonly signal: AbortSignal
  readonly observer: Observer
  /** For the audit entry: the name of a token, or `command`. */
  readonly who: string
}

/** What came of an attempt, for its note. */
export interface Attempted {
  readonly detail: ActionDetail
  readonly failed?: boolean
}

/**
 * Does something outside the database, and notes there that it began and how it ended; see `auditAction`.
 * @param note says what is done; who does it is known.
 */
export type Attempt = <T extends Attempted>(note: Omit<AuditEntry, 'who'>, work: () => Promise<T>) => Promise<T>

/** Attempts of whoever runs an action. */
export function attemptsOf({ db, who }: Pick<ActionContext, 'db' | 'who'>): Attempt {
  return (note, work) => auditAction(db, { ...note, who }, work)
}

/** Pause between two transactions of an action: a running `serve` goes first. */
const PAUSE_MS = 10

/** Calls `work` with at most `size` items at a time, with pauses in between. */
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

/** Calls `work` with the position after which to continue, from 0 on, until it returns null; with pauses in between. */
export async function untilDone(a: ActionContext, work: (after: number) => Promise<number | null>): Promise<void> {
  for (let after: number | null = 0; after !== null; ) {
    a.signal.throwIfAborted()
    after = await work(after)
    if (after !== null) await a.clock.sleep(PAUSE_MS, a.signal)
  }
}

/** Ids for an audit entry: how many, and the first 20. */
export function idsForAudit(ids: readonly string[]): { readonly ids: readonly string[]; readonly count: number } {
  return { ids: ids.slice(0, 20).map((id) => id.slice(0, 100)), count: ids.length }
}

/** A filter for an audit entry, without what is undefined. */
export function filterForAudit(filter: object): ActionDetail {
  const narrowing = Object.entries(filter).filter(([, value]) => value !== undefined)
  return Object.fromEntries(narrowing.map(([name, value]) => [name, String(value)]))
}

/** Notes that somebody is shown what is masked otherwise. Called before it is handed out: whoever cannot be noted is shown nothing. */
export async function noteShowing(a: ActionContext, action: string, target: string | null, detail: ActionDetail): Promise<void> {
  await auditedDb(a.db, { who: a.who, action, target, detail }).write('showing-noted', async () => undefined)
}

/** The same of one page of a list that a program follows: what it is shown in an hour is one note. */
export async function notePageShown(a: ActionContext, action: string, target: string | null, detail: ActionDetail): Promise<void> {
  await noteFollowing(a.db, { who: a.who, action, target, detail })
}
