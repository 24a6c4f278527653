import type { Differences } from '../../apply/compare.ts'
import type { Change } from '../../model/change.ts'
import { feedOf, fieldOf } from '../../model/entities.ts'
import type { EventFact, MessageFact } from '../../model/facts.ts'
import { type Json, sameJson } from '../../model/json.ts'
import { hasValue } from '../../model/merge.ts'
import type { Feed } from '../../model/reads.ts'
import { type FoundDifference, finding } from './finding.ts'

type RecordFact = EventFact | MessageFact

/** Records that can be put right, and what is wrong with them. */
export interface Sifted {
  readonly facts: readonly RecordFact[]
  /** Whether anything of it differs, or of what came with it. */
  readonly differ: boolean
}

/**
 * Corrections that wait for a second replay. A replay is as old as its reading, and an answer may be damaged: what the mirror says
 * otherwise may be newer and right. So a value is emptied or changed only when two replays say the same in its place; what one of them
 * adds to the mirror is put there at once.
 */
export class PendingCorrections {
  readonly #waiting: Readonly<Record<Feed, Map<string, readonly Change[]>>> = { events: new Map(), thread: new Map() }

  has(feed: Feed): boolean {
    return this.#waiting[feed].size > 0
  }

  /** Keeps back the records of a replay that would correct something. @returns the others, which correct nothing. */
  hold(facts: readonly RecordFact[], differences: Differences): Sifted {
    const doubted = corrections(differences)
    for (const [id, changes] of doubted) this.#waiting[feedOfChanges(changes)].set(id, changes)
    const rest = [...differences.changed, ...differences.rawOnly].filter((change) => !doubted.has(recordOf(change)))
    const sure = facts.filter((fact) => !doubted.has(idOf(fact))).map((fact) => ({ ...fact, corrects: [] }))
    return { facts: sure, differ: rest.length > 0 }
  }

  /** The records among these that wait for a second replay. */
  filter(facts: readonly RecordFact[]): RecordFact[] {
    return facts.filter((fact) => this.#waiting[fact.kind === 'event' ? 'events' : 'thread'].has(idOf(fact)))
  }

  /**
   * Takes what a second replay says of records that wait.
   * @param differences of these facts from the mirror as it is now.
   * @returns the records that may be put right; they correct only what both replays say.
   */
  confirm(facts: readonly RecordFact[], differences: Differences): RecordFact[] {
    const now = corrections(differences)
    const differing = new Set([...differences.changed, ...differences.rawOnly].map(recordOf))
    const settled: RecordFact[] = []
    for (const fact of facts) {
      const waiting = this.#waiting[fact.kind === 'event' ? 'events' : 'thread']
      const first = valuesOf(waiting.get(idOf(fact)) ?? [])
      const second = valuesOf(now.get(idOf(fact)) ?? [])
      if (![...second].every(([name, value]) => first.has(name) && sameJson(first.get(name) ?? null, value))) continue
      waiting.delete(idOf(fact))
      if (differing.has(idOf(fact))) settled.push({ ...fact, corrects: [...second.keys()] })
    }
    return settled
  }

  /** Gives up those of a feed that still wait. @param why as the beginning of a sentence. @returns findings that say so. */
  discard(submissionId: string, feed: Feed, why: string): FoundDifference[] {
    const left = [...this.#waiting[feed].values()].flat()
    this.#waiting[feed].clear()
    return left.map(({ entity, entity_id: entityId, before, after }) => {
      const fields = Object.keys(after).map((field) => ({ field, mirror: before?.[field] ?? null, service: after[field] ?? null }))
      const detail = `${why}: it was left as it is`
      return finding({ kind: 'different', submissionId, entity, entityId, read: feed, fields, detail })
    })
  }
}

/** The changes that empty or change a value, with the others of the same record, by the record's id. */
function corrections({ changed, rawOnly }: Differences): Map<string, Change[]> {
  const updates = changed.filter(({ entity, operation }) => feedOf(entity) !== null && operation !== 'gone')
  const doubted = new Set(
    [...updates.filter((change) => valuesOf([change]).size > 0), ...rawOnly.filter(({ entity }) => feedOf(entity) !== null)].map(recordOf),
  )
  const found = new Map<string, Change[]>()
  for (const change of [...updates, ...rawOnly]) {
    const id = recordOf(change)
    if (doubted.has(id)) found.set(id, [...(found.get(id) ?? []), change])
  }
  return found
}

/** What the corrections among changes of one record would set, by the names that a fact's `corrects` holds. */
function valuesOf(changes: readonly Change[]): Map<string, Json> {
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

/** Not a word of the service, or what follows the newest reading anyway. */
function isOurs(table: string, column: string): boolean {
  const field = fieldOf(table, column)
  return field?.local === true || field?.kind === 'raw'
}

/** The id of the record that a change is about, or of the message on which it hangs. */
function recordOf({ entity_id }: Change): string {
  return String((JSON.parse(entity_id) as Json[])[1])
}

function idOf(fact: RecordFact): string {
  return fact.kind === 'event' ? fact.event.event_id : fact.message.message.message_id
}
