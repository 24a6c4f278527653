import { lanes } from '../model/entities/lanes.ts'
import { type SubmissionRow, submissions } from '../model/entities/submissions.ts'
import { entities } from '../model/entities.ts'
import { columnsWhere, type Entity, type Row } from '../model/entity.ts'
import { type StateFact, submissionIn } from '../model/facts.ts'
import type { Json } from '../model/json.ts'
import { hasValue, sameJsonText, sameRaw } from '../model/merge.ts'
import { keyText } from '../model/row-key.ts'
import { partsShown, type TableView, tableView } from '../model/view.ts'
import type { Taken } from '../store/mirror/access.ts'
import { GENERATED } from './generated.ts'
import { applyRailLanes } from './lanes.ts'
import type { ApplySession } from './session.ts'

const RAW_COLUMNS = columnsWhere(submissions, ({ kind }) => kind === 'raw')

/**
 * Applies a view of the state: the submission's columns and the rows of its lists. Rows that the view no longer shows are marked gone,
 * never deleted (invariant 7). Columns and lists that are not in the view stay unchanged. @returns the result of
 * `MirrorAccess.takeApplied`; only `new` is applied (invariant 6, trap 81).
 */
export async function applyState(session: ApplySession, fact: StateFact): Promise<Taken> {
  const taken = await session.access.takeApplied(fact)
  if (taken === 'same') await applyVolatile(session, fact)
  if (taken !== 'new') return taken
  applySubmission(session, fact)
  for (const entity of entities) {
    const shown = tableView(fact.view, entity)
    if (shown === null) continue
    if (entity.table === lanes.table) await applyRailLanes(session, fact, shown)
    else await applyRows(session, entity, fact, shown)
  }
  return taken
}

function applySubmission(session: ApplySession, fact: StateFact): void {
  const { submission } = fact.view
  if (submission === null) return
  const stored = session.submissions.get({ account: fact.account, submission_id: fact.submissionId })
  if (stored === null) return
  const next: Row = { ...stored, ...submission, ...readTimes(fact) }
  // Every view has a new generation time, which is no change.
  for (const column of RAW_COLUMNS) Object.assign(next, rawOf(column, GENERATED, stored, next))
  session.submissions.put(next as SubmissionRow, fact.cause)
}

/** Stores volatile values (see `Field.volatile`) of a view that is otherwise unchanged. */
async function applyVolatile(session: ApplySession, fact: StateFact): Promise<void> {
  const place = { account: fact.account, submission_id: submissionIn(fact) }
  const shown = entities.map((entity) => ({ entity, rows: tableView(fact.view, entity)?.rows ?? [] }))
  const { submission } = fact.view
  if (submission !== null) shown.push({ entity: submissions, rows: [{ ...submission, ...readTimes(fact) }] })
  for (const { entity, rows } of shown) {
    const columns = new Set(columnsWhere(entity, ({ volatile }) => volatile === true))
    if (columns.size === 0) continue
    const set = session.of(entity)
    const placed = rows.map((row): Row => ({ ...row, ...place }))
    await set.load(placed)
    for (const row of placed) {
      const stored = set.get(row)
      const current = Object.fromEntries(Object.entries(row).filter(([column]) => columns.has(column)))
      if (stored !== null) set.put({ ...stored, ...current }, fact.cause)
    }
  }
}

/** Read times of the view and each part of it, except parts that the answer left out. */
function readTimes({ read, view, readAt }: StateFact): Row {
  if (read !== 'requirements') return {}
  return Object.fromEntries(['state', ...partsShown(view)].map((part) => [`${part}_read_at`, readAt]))
}

async function applyRows(session: ApplySession, entity: Entity, fact: StateFact, shown: TableView): Promise<void> {
  const set = session.of(entity)
  const volatile = new Set(columnsWhere(entity, (field) => field.volatile === true))
  const keepsGone = 'gone_at' in entity.columns
  // A second read of a table has its own column, and only decides about rows that the first never showed.
  const isOwn = entity.read === fact.read
  const shares = columnsWhere(entity, ({ read }) => read !== undefined).length > 0
  const ofRead = columnsWhere(entity, ({ read }) => (isOwn ? read === undefined : read === fact.read))
  // A raw column with links is always replaced: the newest links count.
  const rawColumn = ofRead.find((column) => entity.columns[column] === 'raw' && entity.fields[column]?.link !== true)
  const decides = (row: Row) => !shares || hasValue(row['raw']) === isOwn
  const place = { account: fact.account, submission_id: submissionIn(fact) }
  const rows = shown.rows.map((row): Row => ({ ...row, ...place }))
  const stored = await set.loadSubmission(fact.account, fact.submissionId)
  await set.load(rows)
  for (const row of rows) {
    const before = set.get(row)
    const former = before?.['submission_id'] ?? null
    if (typeof former === 'string' && former !== place.submission_id) session.movedPlaces.push({ ...fact, submissionId: former }, fact)
    const isHere = keepsGone && (isOwn || before === null || decides(before)) ? { gone_at: null } : {}
    set.merge({ ...row, ...seenAt(session, entity, before), ...isHere, ...rawOf(rawColumn, volatile, before, row) }, fact.cause)
  }
  if (!keepsGone) return
  const present = new Set(rows.map((row) => keyText(entity, row)))
  for (const row of stored) {
    if (present.has(keyText(entity, row)) || !shown.saysGone(row)) continue
    if (!isOwn) set.put({ ...row, ...Object.fromEntries(ofRead.map((column) => [column, null])) }, fact.cause)
    const left = set.get(row) ?? row
    if (!hasValue(row['gone_at']) && decides(row)) set.put({ ...left, gone_at: fact.readAt }, fact.cause)
  }
}

function seenAt({ now }: ApplySession, { columns }: Entity, before: Row | null): Row {
  return 'first_seen_at' in columns && !hasValue(before?.['first_seen_at']) ? { first_seen_at: now } : {}
}

/** If the JSON is equal, the stored text stays. */
function rawOf(column: string | undefined, volatile: ReadonlySet<string>, before: Row | null, row: Row): Row {
  if (column === undefined) return {}
  const isSame = before !== null && sameRawBut(volatile, before[column], row[column])
  return { [column]: (isSame ? before[column] : row[column]) ?? null }
}

/** Whether two raw texts are equal except for the values under `keys`, at any depth. */
function sameRawBut(keys: ReadonlySet<string>, a: Json | undefined, b: Json | undefined): boolean {
  if (keys.size === 0) return sameRaw(a, b)
  return a === b || (typeof a === 'string' && typeof b === 'string' && sameJsonText(a, b, (value) => without(keys, value)))
}

function without(keys: ReadonlySet<string>, value: Json): Json {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item: Json) => without(keys, item))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !keys.has(key))
      .map(([key, item]) => [key, without(keys, item)]),
  )
}
