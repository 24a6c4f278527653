import type { Differences } from '../../apply/compare.ts'
import type { Change } from '../../model/change.ts'
import { documents } from '../../model/entities/documents.ts'
import { feedOf, fieldOf } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { ReadKind, StateRead } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { FieldDifference, FindingKind } from '../../store/schema/reconcile.ts'

/** A finding that is not stored yet and so has no number. */
export interface NewFinding {
  readonly kind: FindingKind
  readonly submissionId: string | null
  readonly entity: string | null
  readonly entityId: string | null
  readonly fields: readonly FieldDifference[] | null
  readonly read: ReadKind | null
  readonly destination: string | null
  readonly seq: number | null
  readonly standing: boolean
  readonly repaired: boolean
  readonly detail: string
}

function hasRecords(differences: Differences): boolean {
  return differences.changed.some((change) => feedOf(change.entity) !== null)
}

/** @returns a finding whose other fields are null or false. */
export function finding(given: Partial<NewFinding> & Pick<NewFinding, 'kind' | 'detail'>): NewFinding {
  const blank = { submissionId: null, entity: null, entityId: null, fields: null, read: null, destination: null, seq: null }
  return { ...blank, standing: false, repaired: false, ...given }
}

/**
 * Turns the differences of one submission into findings, over all steps of its check. A row is reported once: a later step that changes
 * it again adds nothing. A derived column is not reported when the record from which it derives is.
 */
export class FindingBuilder {
  readonly #submissionId: string
  readonly #reported = new Set<string>()
  /** When each feed was last polled. What happened later was not missed. */
  readonly #polledAt: { readonly events: TimeText | null; readonly thread: TimeText | null }
  #recordsDiffered = false
  /** Derived columns that disagreed with the stored records before anything was repaired. */
  readonly #damaged = new Set<string>()

  constructor(submissionId: string, polledAt: { readonly events: TimeText | null; readonly thread: TimeText | null }) {
    this.#submissionId = submissionId
    this.#polledAt = polledAt
  }

  /** Notes which derived columns disagree with the stored records. To be called before anything is repaired. */
  noteDamage(derived: Differences): void {
    for (const change of derived.changed) {
      if (change.operation === 'update') for (const column of Object.keys(change.after)) this.#damaged.add(columnOf(change, column))
    }
  }

  /** @param state the state read that showed the differences; null: a replay. */
  findingsOf(differences: Differences, state: StateRead | null, repaired: boolean): NewFinding[] {
    const recordsDiffer = this.#recordsDiffered || hasRecords(differences)
    const changes = [...differences.changed, ...differences.rawOnly]
    return changes
      .filter((change) => this.#isNew(change, state === null && recordsDiffer))
      .map((change) => this.#findingOf(change, state, repaired))
  }

  /** Remembers findings as reported. Only to be called after their commit: a transaction that is retried must build them again. */
  markReported(differences: Differences, findings: readonly NewFinding[]): void {
    if (hasRecords(differences)) this.#recordsDiffered = true
    for (const { entity, entityId } of findings) this.#reported.add(`${entity} ${entityId}`)
  }

  #isNew(change: Change, recordsDiffer: boolean): boolean {
    if (change.operation !== 'gone' && this.#reported.has(`${change.entity} ${change.entity_id}`)) return false
    // Repairing a record changes the columns derived from it. That is a finding only when they were wrong before.
    const follows = (column: string) =>
      fieldOf(change.entity, column)?.derivedFrom !== undefined && !this.#damaged.has(columnOf(change, column))
    const onlyFollows = change.operation === 'update' && Object.keys(change.after).every(follows)
    return !(recordsDiffer && onlyFollows)
  }

  #findingOf(change: Change, state: StateRead | null, repaired: boolean): NewFinding {
    const read = state ?? readOf(change)
    const { entity, entity_id: entityId, operation } = change
    const about = { submissionId: this.#submissionId, entity, entityId, read, repaired }
    if (operation === 'insert') return finding({ ...about, kind: 'missing', detail: this.#missing(change) })
    if (operation === 'gone') {
      return finding({ ...about, kind: 'absent', detail: 'the mirror has it, and the service no longer shows it; asked twice' })
    }
    const fields = fieldsOf(change)
    return finding({ ...about, kind: 'different', fields, detail: differenceText(fields) })
  }

  #missing(change: Change): string {
    const feed = feedOf(change.entity)
    const polledAt = feed === null ? null : this.#polledAt[feed]
    const occurredAt = change.after['occurred_at']
    const base = 'the service shows it, and the mirror did not have it'
    const isNews = polledAt !== null && typeof occurredAt === 'string' && occurredAt > polledAt
    return isNews ? `${base}; it happened after the feed was last polled, so it is news and not a loss` : base
  }
}

function columnOf({ entity, entity_id }: Change, column: string): string {
  return `${entity} ${entity_id} ${column}`
}

function readOf(change: Change): ReadKind | null {
  if (change.entity === documents.table) return null
  const derivedFrom = Object.keys(change.after).map((column) => fieldOf(change.entity, column)?.derivedFrom)
  return feedOf(change.entity) ?? (derivedFrom.includes('thread') ? 'thread' : 'events')
}

function fieldsOf(change: Change): FieldDifference[] {
  const before: Row = change.before ?? {}
  return Object.keys(change.after).map((field) => ({ field, mirror: before[field] ?? null, service: change.after[field] ?? null }))
}

function differenceText(fields: readonly FieldDifference[]): string {
  const names = fields.map(({ field }) => field)
  if (names.includes('gone_at')) return 'it was marked as no longer shown, and the service shows it again'
  if (names.length === 1 && names[0] === 'raw')
    return 'a field that has no column of its own, or a value that its column cannot hold, differs; it stands in raw'
  return `the mirror says something else than the service in ${names.join(', ')}`
}
