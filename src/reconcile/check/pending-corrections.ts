import type { Differences } from '../../apply/compare.ts'
import type { Change } from '../../model/change.ts'
import { feedOf, fieldOf } from '../../model/entities.ts'
import { type Json, sameJson } from '../../model/json.ts'
import { hasValue } from '../../model/merge.ts'
import type { EventObservation, MessageObservation } from '../../model/observations.ts'
import type { Feed } from '../../model/reads.ts'
import { finding, type NewFinding } from './finding.ts'

type RecordObservation = EventObservation | MessageObservation

/**
 * Records that can be repaired without a second full re-read. `differ`: true if these records, or rows computed from
 * them, differ from the mirror.
 */
export interface Certain {
  readonly observations: readonly RecordObservation[]
  readonly differ: boolean
}

/**
 * Corrections that wait for a second full re-read. One re-read may be outdated or damaged, so a stored value is changed
 * or cleared only if two re-reads agree. Missing rows and values don't wait.
 */
export class PendingCorrections {
  readonly #waiting: Readonly<Record<Feed, Map<string, readonly Change[]>>> = { events: new Map(), thread: new Map() }

  has(feed: Feed): boolean {
    return this.#waiting[feed].size > 0
  }

  /** Holds back records that would change or clear a stored value. @returns the other records. */
  hold(observations: readonly RecordObservation[], differences: Differences): Certain {
    const held = correctionsIn(differences)
    for (const [id, changes] of held) this.#waiting[feedOfChanges(changes)].set(id, changes)
    const rest = [...differences.changed, ...differences.rawOnly].filter((change) => !held.has(recordOf(change)))
    const certain = observations
      .filter((observation) => !held.has(idOf(observation)))
      .map((observation) => ({ ...observation, corrects: [] }))
    return { observations: certain, differ: rest.length > 0 }
  }

  /** @returns the observations whose records are held back. */
  filter(observations: readonly RecordObservation[]): RecordObservation[] {
    return observations.filter((observation) => this.#waiting[observation.kind === 'event' ? 'events' : 'thread'].has(idOf(observation)))
  }

  /**
   * Compares a second full re-read with the corrections that were held back.
   * @param observations the held-back records, as the second re-read shows them.
   * @param differences differences between `observations` and the current mirror.
   * @returns the records to repair. In each record, `corrects` lists the fields on which both re-reads agree.
   */
  confirm(observations: readonly RecordObservation[], differences: Differences): RecordObservation[] {
    const now = correctionsIn(differences)
    const differing = new Set([...differences.changed, ...differences.rawOnly].map(recordOf))
    const confirmed: RecordObservation[] = []
    for (const observation of observations) {
      const waiting = this.#waiting[observation.kind === 'event' ? 'events' : 'thread']
      const first = correctedValues(waiting.get(idOf(observation)) ?? [])
      const second = correctedValues(now.get(idOf(observation)) ?? [])
      if (![...second].every(([name, value]) => first.has(name) && sameJson(first.get(name) ?? null, value))) continue
      waiting.delete(idOf(observation))
      if (differing.has(idOf(observation))) confirmed.push({ ...observation, corrects: [...second.keys()] })
    }
    return confirmed
  }

  /**
   * Drops the corrections of a feed that are still held back.
   * @param why beginning of the sentence in each finding, such as `two full re-reads disagree on it`.
   * @returns a finding for each row that stays unchanged.
   */
  discard(submissionId: string, feed: Feed, why: string): NewFinding[] {
    const left = [...this.#waiting[feed].values()].flat()
    this.#waiting[feed].clear()
    return left.map(({ entity, entity_id: entityId, before, after }) => {
      const fields = Object.keys(after).map((field) => ({ field, mirror: before?.[field] ?? null, service: after[field] ?? null }))
      const detail = `${why}; it was left unchanged`
      return finding({ kind: 'different', submissionId, entity, entityId, read: feed, fields, detail })
    })
  }
}

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

/** True for `raw` and for columns that the mirror sets. All other columns contain values of the service. */
function isOurs(table: string, column: string): boolean {
  const field = fieldOf(table, column)
  return field?.local === true || field?.kind === 'raw'
}

function recordOf({ entity_id }: Change): string {
  return String((JSON.parse(entity_id) as Json[])[1])
}

function idOf(observation: RecordObservation): string {
  return observation.kind === 'event' ? observation.event.event_id : observation.message.message.message_id
}
