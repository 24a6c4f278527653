import type { Differences } from '../../apply/compare.ts'
import type { Change } from '../../model/change.ts'
import { feedOf, fieldOf } from '../../model/entities.ts'
import type { EventFact, MessageFact } from '../../model/facts.ts'
import { type Json, sameJson } from '../../model/json.ts'
import { hasValue } from '../../model/merge.ts'
import type { Feed } from '../../model/reads.ts'
import { finding, type NewFinding } from './finding.ts'

type RecordFact = EventFact | MessageFact

/** Records that need no second replay. */
export interface Certain {
  readonly facts: readonly RecordFact[]
  /** Whether any of them, or of what comes with them, differs from the mirror. */
  readonly differ: boolean
}

/**
 * Corrections that wait for a second replay. A single replay may be outdated or damaged, and the mirror newer and right. So a stored value
 * is emptied or changed only when two replays agree on the new one. Rows and values that the mirror lacks are added at once.
 */
export class PendingCorrections {
  readonly #waiting: Readonly<Record<Feed, Map<string, readonly Change[]>>> = { events: new Map(), thread: new Map() }

  has(feed: Feed): boolean {
    return this.#waiting[feed].size > 0
  }

  /** Holds back the records of a replay that would change or empty a stored value. @returns the others. */
  hold(facts: readonly RecordFact[], differences: Differences): Certain {
    const held = correctionsIn(differences)
    for (const [id, changes] of held) this.#waiting[feedOfChanges(changes)].set(id, changes)
    const rest = [...differences.changed, ...differences.rawOnly].filter((change) => !held.has(recordOf(change)))
    const certain = facts.filter((fact) => !held.has(idOf(fact))).map((fact) => ({ ...fact, corrects: [] }))
    return { facts: certain, differ: rest.length > 0 }
  }

  /** @returns those of `facts` that wait for a second replay. */
  filter(facts: readonly RecordFact[]): RecordFact[] {
    return facts.filter((fact) => this.#waiting[fact.kind === 'event' ? 'events' : 'thread'].has(idOf(fact)))
  }

  /**
   * Compares a second replay with the corrections that wait.
   * @param facts waiting records, as the second replay shows them.
   * @param differences between `facts` and the mirror as it is now.
   * @returns the records to repair; their `corrects` lists the fields on which both replays agree.
   */
  confirm(facts: readonly RecordFact[], differences: Differences): RecordFact[] {
    const now = correctionsIn(differences)
    const differing = new Set([...differences.changed, ...differences.rawOnly].map(recordOf))
    const confirmed: RecordFact[] = []
    for (const fact of facts) {
      const waiting = this.#waiting[fact.kind === 'event' ? 'events' : 'thread']
      const first = correctedValues(waiting.get(idOf(fact)) ?? [])
      const second = correctedValues(now.get(idOf(fact)) ?? [])
      if (![...second].every(([name, value]) => first.has(name) && sameJson(first.get(name) ?? null, value))) continue
      waiting.delete(idOf(fact))
      if (differing.has(idOf(fact))) confirmed.push({ ...fact, corrects: [...second.keys()] })
    }
    return confirmed
  }

  /** Gives up what still waits of a feed. @param why the beginning of a sentence. @returns one finding for each row that is left as it is. */
  discard(submissionId: string, feed: Feed, why: string): NewFinding[] {
    const left = [...this.#waiting[feed].values()].flat()
    this.#waiting[feed].clear()
    return left.map(({ entity, entity_id: entityId, before, after }) => {
      const fields = Object.keys(after).map((field) => ({ field, mirror: before?.[field] ?? null, service: after[field] ?? null }))
      const detail = `${why}; it was left as it is`
      return finding({ kind: 'different', submissionId, entity, entityId, read: feed, fields, detail })
    })
  }
}

/** Changes by record id, for records with at least one change that empties or changes a stored value. */
function correctionsIn({ changed, rawOnly }: Differences): Map<string, Change[]> {
  const updates = changed.filter(({ entity, operation }) => feedOf(entity) !== null && operation !== 'gone')
  const held = new Set(
    [...updates.filter((change) => correctedValues([change]).size > 0), ...rawOnly.filter(({ entity }) => feedOf(entity) !== null)].map(
      recordOf,
    ),
  )
  const byRecord = new Map<string, Change[]>()
  for (const change of [...updates, ...rawOnly]) {
    const id = recordOf(change)
    if (held.has(id)) byRecord.set(id, [...(byRecord.get(id) ?? []), change])
  }
  return byRecord
}

/** The corrected values among the changes of one record, by their names in a fact's `corrects`. */
function correctedValues(changes: readonly Change[]): Map<string, Json> {
  const values = new Map<string, Json>()
  for (const { entity, entity_id, before, after } of changes) {
    const prefix = entity === 'thread_attachments' ? `${(JSON.parse(entity_id) as Json[])[2]}.` : ''
    for (const [column, value] of Object.entries(after)) {
      if (!isOurs(entity, column) && hasValue(before?.[column])) values.set(`${prefix}${column}`, value)
    }
  }
  return values
}

function feedOfChanges([first]: readonly Change[]): Feed {
  return feedOf(first?.entity ?? '') ?? 'events'
}

/** Whether a column is the mirror's own, or `raw`, which every read overwrites. */
function isOurs(table: string, column: string): boolean {
  const field = fieldOf(table, column)
  return field?.local === true || field?.kind === 'raw'
}

/** The event or message id of a change; for an attachment its message's id. */
function recordOf({ entity_id }: Change): string {
  return String((JSON.parse(entity_id) as Json[])[1])
}

function idOf(fact: RecordFact): string {
  return fact.kind === 'event' ? fact.event.event_id : fact.message.message.message_id
}
