import type { Differences } from '../../apply/compare.ts'
import type { Change } from '../../model/change.ts'
import { feedOf, fieldOf } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { ReadKind, StateRead } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { FieldDifference, FindingKind } from '../../store/schema/tables-reconcile.ts'

/** Something that a run found, before it has its number. */
export interface FoundDifference {
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

/** A finding with nothing said but what is given. */
export function finding(given: Partial<FoundDifference> & Pick<FoundDifference, 'kind' | 'detail'>): FoundDifference {
  const blank = { submissionId: null, entity: null, entityId: null, fields: null, read: null, destination: null, seq: null }
  return { ...blank, standing: false, repaired: false, ...given }
}

/**
 * Turns differences of one submission into findings, over all the steps in which they are found: a row that was missing is not reported
 * once more because a later step fills it, and what merely follows from a record is not reported beside it.
 */
export class Finder {
  readonly #submissionId: string
  readonly #reported = new Set<string>()
  /** When each feed was last polled: what happened later is news. */
  readonly #polledAt: { readonly events: TimeText | null; readonly thread: TimeText | null }
  #recordsDiffered = false
  /** Columns that did not follow from the records before anything was put right. */
  readonly #damaged = new Set<string>()

  constructor(submissionId: string, polledAt: { readonly events: TimeText | null; readonly thread: TimeText | null }) {
    this.#submissionId = submissionId
    this.#polledAt = polledAt
  }

  /** Takes what of the rows beside the records does not follow from them, before anything is put right. */
  before(derived: Differences): void {
    for (const change of derived.changed) {
      if (change.operation === 'update') for (const column of Object.keys(change.after)) this.#damaged.add(columnOf(change, column))
    }
  }

  /**
   * @param state the read of the state by which they were found; null: a replay.
   * @param repaired whether they were put right.
   */
  found(differences: Differences, state: StateRead | null, repaired: boolean): FoundDifference[] {
    const recordsDiffer = this.#recordsDiffered || hasRecords(differences)
    const changes = [...differences.changed, ...differences.rawOnly]
    return changes
      .filter((change) => this.#isNew(change, state === null && recordsDiffer))
      .map((change) => this.#findingOf(change, state, repaired))
  }

  /** Those findings were kept: from now on they are reported. A transaction that is begun again must not see this. */
  reported(differences: Differences, found: readonly FoundDifference[]): void {
    if (hasRecords(differences)) this.#recordsDiffered = true
    for (const { entity, entityId } of found) this.#reported.add(`${entity} ${entityId}`)
  }

  #isNew(change: Change, recordsDiffer: boolean): boolean {
    if (change.operation !== 'gone' && this.#reported.has(`${change.entity} ${change.entity_id}`)) return false
    // What is kept of the records beside them follows when one of them is put right: unless it was wrong before it is no finding.
    const follows = (column: string) =>
      fieldOf(change.entity, column)?.derivedFrom !== undefined && !this.#damaged.has(columnOf(change, column))
    const onlyFollows = change.operation === 'update' && Object.keys(change.after).every(follows)
    return !(recordsDiffer && onlyFollows)
  }

  #findingOf(change: Change, state: StateRead | null, repaired: boolean): FoundDifference {
    const read = state ?? readOf(change)
    const { entity, entity_id: entityId, operation } = change
    const about = { submissionId: this.#submissionId, entity, entityId, read, repaired }
    if (operation === 'insert') return finding({ ...about, kind: 'missing', detail: this.#missing(change) })
    if (operation === 'gone') {
      return finding({ ...about, kind: 'absent', detail: 'the mirror has it, and the service no longer shows it; asked twice' })
    }
    const fields = fieldsOf(change)
    return finding({ ...about, kind: 'different', fields, detail: different(fields) })
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

function readOf(change: Change): ReadKind {
  const derivedFrom = Object.keys(change.after).map((column) => fieldOf(change.entity, column)?.derivedFrom)
  return feedOf(change.entity) ?? (derivedFrom.includes('thread') ? 'thread' : 'events')
}

function fieldsOf(change: Change): FieldDifference[] {
  const before: Row = change.before ?? {}
  return Object.keys(change.after).map((field) => ({ field, mirror: before[field] ?? null, service: change.after[field] ?? null }))
}

function different(fields: readonly FieldDifference[]): string {
  const names = fields.map(({ field }) => field)
  if (names.includes('gone_at')) return 'it was marked as no longer shown, and the service shows it again'
  if (names.length === 1 && names[0] === 'raw')
    return 'a field that has no column of its own, or a value that its column cannot hold, differs; it stands in raw'
  return `the mirror says something else than the service in ${names.join(', ')}`
}
