import type { EventFact, Fact, MessageFact } from '../model/facts.ts'
import { timeFromMs } from '../model/time.ts'
import type { Observer } from '../observe.ts'
import type { Db, Tx } from '../store/db.ts'
import { noteArrivals, noteConflicts } from '../store/evidence.ts'
import { type MirrorWriter, writeMirror } from '../store/mirror-writer.ts'
import { askReplay, wakeReads } from '../store/reads.ts'
import { applyEvents } from './market-events.ts'
import { applyRequirements } from './requirements.ts'
import { Session } from './session.ts'
import { applyReach, lockSubmissions } from './submissions.ts'
import { applyMessages } from './thread-messages.ts'

/** What applying some facts came to. */
export interface Applied {
  /** Events and messages that were not known before. */
  readonly inserted: number
  /** Rows of the change log that this will add. */
  readonly changes: number
  /** State facts that came too late: a read sent after theirs has been applied. */
  readonly stale: number
}

/** The door into the mirror, open for one transaction. */
export interface Door {
  readonly tx: Tx
  /** Applies facts of any kinds, in any order; may be called once in a transaction. */
  apply(facts: readonly Fact[]): Promise<Applied>
}

/**
 * Runs `work` in one transaction in which it may apply facts and settle what caused them (invariant 3): rows, change log and
 * inbox mark or cursor become durable together, or not at all.
 * @param name the transaction's name, see `Db.write`.
 * @throws what `Db.write` throws, and what `work` throws; then nothing was written.
 */
export function throughDoor<T>(db: Db, observer: Observer, name: string, work: (door: Door) => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  return writeMirror(db, name, async (writer) => {
    const result = await work({ tx: writer.tx, apply: (facts) => applyFacts(writer, facts, observer) })
    writer.tx.afterCommit(() => {
      observer.time('apply_commit_seconds', (performance.now() - startedAt) / 1000)
      countChanges(writer, observer)
    })
    return result
  })
}

async function applyFacts(writer: MirrorWriter, facts: readonly Fact[], observer: Observer): Promise<Applied> {
  if (facts.length === 0) return { inserted: 0, changes: 0, stale: 0 }
  const { tx } = writer
  const session = new Session(writer, timeFromMs(tx.clock.now()))
  await lockSubmissions(session, facts)
  await applyEvents(
    session,
    facts.filter((fact): fact is EventFact => fact.kind === 'event'),
  )
  await applyMessages(
    session,
    facts.filter((fact): fact is MessageFact => fact.kind === 'message'),
  )
  let stale = 0
  for (const fact of facts) {
    if (fact.kind === 'state' && !(await applyRequirements(session, fact))) stale += 1
    if (fact.kind === 'reach') applyReach(session, fact)
    if (fact.kind === 'wake') session.wake(fact, ...fact.reads)
  }
  await session.flush()
  await wakeReads(tx, session.wakes)
  await askReplay(tx, [...session.replays.values()])
  await noteArrivals(tx, session.arrivals, session.now)
  await keepConflicts(session, observer)
  return { inserted: session.inserted, changes: writer.changes.length, stale }
}

async function keepConflicts(session: Session, observer: Observer): Promise<void> {
  const { tx } = session.writer
  const groups = Map.groupBy(session.conflicts, ({ account, entity }) => `${account} ${entity}`)
  for (const [, conflicts] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const kept = await noteConflicts(tx, conflicts, session.now)
    const [first] = conflicts
    if (kept > 0 && first) tx.afterCommit(() => observer.count('conflicts_total', { account: first.account, entity: first.entity }, kept))
  }
}

function countChanges(writer: MirrorWriter, observer: Observer): void {
  const counts = new Map<string, { labels: Record<string, string>; n: number }>()
  for (const { account, entity, operation, cause } of writer.changes) {
    const key = `${account} ${entity} ${operation} ${cause}`
    const entry = counts.get(key) ?? { labels: { account, entity, operation, cause }, n: 0 }
    entry.n += 1
    counts.set(key, entry)
  }
  for (const { labels, n } of counts.values()) observer.count('applied_rows_total', labels, n)
}
