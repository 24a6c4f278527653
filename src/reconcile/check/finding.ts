import type { Differences } from '../../apply/compare.ts'
import type { Change } from '../../model/change.ts'
import { documents } from '../../model/entities/documents.ts'
import { marketEvents } from '../../model/entities/market-events.ts'
import { threadAttachments } from '../../model/entities/thread-attachments.ts'
import { threadMessages } from '../../model/entities/thread-messages.ts'
import { feedOf, fieldOf } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import { sameJson } from '../../model/json.ts'
import type { ReadKind, StateRead } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { FieldDifference, FindingKind } from '../../store/schema/reconcile.ts'

/** A finding that isn't stored yet, so it has no number. */
export interface NewFinding {
  readonly kind: FindingKind
  readonly submissionId: string | null
  readonly entity: string | null
  readonly entityId: string | null
  readonly fields: readonly FieldDifference[] | null
  readonly read: ReadKind | null
  readonly destination: string | null
  readonly seq: number | null
  readonly known: boolean
  readonly repaired: boolean
  readonly detail: string
}

function hasRecords(differences: Differences): boolean {
  return differences.changed.some((change) => feedOf(change.entity) !== null)
}

/** @returns a finding in which missing fields have a default: null, or false for `known` and `repaired`. */
export function finding(given: Partial<NewFinding> & Pick<NewFinding, 'kind' | 'detail'>): NewFinding {
  const blank = { submissionId: null, entity: null, entityId: null, fields: null, read: null, destination: null, seq: null }
  return { ...blank, known: false, repaired: false, ...given }
}

/**
 * Turns the differences of one submission into findings, across all steps of its check. Reports each row once. Reports
 * a row again only if a later step marks the row as gone.
 * The repair of a record changes derived columns (columns computed from records). Such a column is reported only if it
 * was wrong before the repair.
 */
export class FindingBuilder {
  readonly #submissionId: string
  readonly #reported = new Set<string>()
  /** When each feed was last polled. A record that occurred later counts as `moved` instead of `missing`. */
  readonly #polledAt: { readonly events: TimeText | null; readonly thread: TimeText | null }
  #recordsDiffered = false
  #hasMoved = false
  /** Derived columns that didn't match the stored records before any repair. */
  readonly #damaged = new Set<string>()

  constructor(submissionId: string, polledAt: { readonly events: TimeText | null; readonly thread: TimeText | null }) {
    this.#submissionId = submissionId
    this.#polledAt = polledAt
  }

  /** True if a finding of this submission has the kind `moved`. */
  get hasMoved(): boolean {
    return this.#hasMoved
  }

  /** Remembers the derived columns that don't match the stored records. Call this before any repair. */
  noteDamage(derived: Differences): void {
    for (const change of derived.changed) {
      if (change.operation === 'update') for (const column of Object.keys(change.after)) this.#damaged.add(columnOf(change, column))
    }
  }

  /**
   * Selects differences that the service may have caused after the mirror's last read. `hasMoved` then checks each of
   * these differences against the change log.
   * @param isStateNewer whether the state that was read is newer than the stored state; null for a full re-read.
   */
  mayHaveMoved({ changed }: Differences, isStateNewer: boolean | null): Change[] {
    const hasNews = this.#hasMoved || changed.some((change) => this.#isNews(change))
    return changed.filter((change) => this.#isNews(change) || (isStateNewer ?? (hasNews && mayFollow(change))))
  }

  /**
   * @param state the state read that showed the differences; null: a full re-read.
   * @param moved differences that the service caused after the mirror's last read.
   */
  findingsOf(differences: Differences, state: StateRead | null, moved: ReadonlySet<Change>, repaired: boolean): NewFinding[] {
    const recordsDiffer = this.#recordsDiffered || hasRecords(differences)
    const changes = [...differences.changed, ...differences.rawOnly]
    return changes
      .filter((change) => this.#isNew(change, state === null && recordsDiffer))
      .map((change) => this.#findingOf(change, state, moved.has(change), repaired))
  }

  /**
   * Remembers that these findings were reported. Call this after their commit. If this were called earlier, a retried
   * transaction would leave the findings out.
   */
  markReported(differences: Differences, findings: readonly NewFinding[]): void {
    if (hasRecords(differences)) this.#recordsDiffered = true
    if (findings.some(({ kind }) => kind === 'moved')) this.#hasMoved = true
    for (const { entity, entityId } of findings) this.#reported.add(`${entity} ${entityId}`)
  }

  #isNew(change: Change, recordsDiffer: boolean): boolean {
    if (change.operation !== 'gone' && this.#reported.has(`${change.entity} ${change.entity_id}`)) return false
    // The repair of a record changes derived columns. Such a column is reported only if it was wrong before the repair.
    const follows = (column: string) =>
      fieldOf(change.entity, column)?.derivedFrom !== undefined && !this.#damaged.has(columnOf(change, column))
    const onlyFollows = change.operation === 'update' && Object.keys(change.after).every(follows)
    return !(recordsDiffer && onlyFollows)
  }

  #findingOf(change: Change, state: StateRead | null, isMoved: boolean, repaired: boolean): NewFinding {
    const read = state ?? readOf(change)
    const { entity, entity_id: entityId, operation } = change
    const about = { submissionId: this.#submissionId, entity, entityId, read, repaired }
    const fields = operation === 'update' ? fieldsOf(change) : null
    if (isMoved) return finding({ ...about, kind: 'moved', fields, detail: 'the service changed it after the mirror last read it' })
    if (operation === 'insert') {
      return finding({ ...about, kind: 'missing', detail: 'the service has it, but the mirror did not' })
    }
    if (fields === null) {
      return finding({ ...about, kind: 'absent', detail: 'the mirror has it, but the service no longer shows it (read twice)' })
    }
    return finding({ ...about, kind: 'different', fields, detail: differenceText(fields) })
  }

  #isNews({ entity, operation, after }: Change): boolean {
    const polledAt = entity === marketEvents.table ? this.#polledAt.events : entity === threadMessages.table ? this.#polledAt.thread : null
    return operation === 'insert' && polledAt !== null && String(after['occurred_at']) > polledAt
  }
}

function mayFollow({ entity, operation }: Change): boolean {
  return feedOf(entity) === null || (entity === threadAttachments.table && operation === 'insert')
}

/**
 * True if the service caused the difference: the mirror's row equals the row's last state in the change log. For a row
 * that the mirror lacks, the log must lack the row too. False if someone changed or deleted the row by hand.
 * @param logged the row's last state in the change log; undefined if the log has no such row.
 */
export function hasMoved({ operation, before, after }: Change, logged: Row | undefined): boolean {
  if (operation === 'insert') return logged === undefined
  return Object.keys(after).every((column) => logged?.[column] !== undefined && sameJson(logged[column], before?.[column] ?? null))
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
  if (names.includes('gone_at')) return 'it was marked as gone, but the service shows it again'
  if (names.length === 1 && names[0] === 'raw')
    return 'a field without its own column, or a value that its column cannot hold, differs in raw'
  return `the mirror and the service differ in ${names.join(', ')}`
}
