import type { EventFact, Fact, MessageFact } from '../model/facts.ts'
import { applyAbsent } from './absent.ts'
import { applyDerived } from './derived.ts'
import { applyDocuments, applyFetched, deriveDocuments } from './documents.ts'
import { applyKnownIds } from './known-ids.ts'
import { applyEvents } from './market-events.ts'
import { protectFacts } from './protect-facts.ts'
import type { ApplySession } from './session.ts'
import { applyState } from './state.ts'
import { applyReachability, lockSubmissions } from './submissions.ts'
import { applyMessages } from './thread-messages.ts'

/** @returns a record read by its id with the submission that it names itself. */
function inOwnSubmission(fact: Fact): Fact {
  const submissionId = fact.kind === 'state' ? (fact.view.ownSubmissionId ?? fact.submissionId) : fact.submissionId
  return submissionId === fact.submissionId ? fact : { ...fact, submissionId }
}

/**
 * Applies facts of any kinds, in any order, to a session. Nothing is written yet. Tax ids are protected first, so that all that is compared and
 * written of them is their protected form.
 * @returns the number of state facts that came too late (invariant 6).
 */
export async function applyTo(session: ApplySession, given: readonly Fact[]): Promise<number> {
  const all = protectFacts(session.access.protection, given.map(inOwnSubmission))
  const tracked = await lockSubmissions(session, all)
  // Nothing is mirrored of a purged submission. A fact of no submission needs none.
  const isTracked = (fact: Fact) => fact.submissionId === '' || tracked.has(`${fact.account} ${fact.submissionId}`)
  const facts = all.filter((fact) => isTracked(fact) || !session.notePurged(fact))
  await applyEvents(
    session,
    facts.filter((fact): fact is EventFact => fact.kind === 'event'),
  )
  await applyMessages(
    session,
    facts.filter((fact): fact is MessageFact => fact.kind === 'message'),
  )
  let stale = 0
  const same = new Set<Fact>()
  for (const fact of facts) {
    const taken = fact.kind === 'state' ? await applyState(session, fact) : null
    if (taken === 'stale') stale += 1
    if (taken === 'same') same.add(fact)
    if (fact.kind === 'reach') applyReachability(session, fact)
    if (fact.kind === 'absent') await applyAbsent(session, fact)
    if (fact.kind === 'derived') await applyDerived(session, fact)
    if (fact.kind === 'document') await applyFetched(session, fact)
    if (fact.kind === 'wake') session.wake(fact, ...fact.reads)
  }
  const news = same.size === 0 ? facts : facts.filter((fact) => !same.has(fact))
  await applyKnownIds(session, news)
  await applyDocuments(session, news)
  for (const fact of facts) if (fact.kind === 'derived') await deriveDocuments(session, fact, fact.cause)
  return stale
}
