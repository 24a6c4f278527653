import { lanes } from '../model/entities/lanes.ts'
import { type SubmissionRow, submissions } from '../model/entities/submissions.ts'
import { entities } from '../model/entities.ts'
import { columnsWhere, type Entity, type Row } from '../model/entity.ts'
import type { Json } from '../model/json.ts'
import { hasValue, sameJsonText, sameRaw } from '../model/merge.ts'
import { type StateObservation, submissionIn } from '../model/observations.ts'
import { keyText } from '../model/row-key.ts'
import { partsShown, type TableView, tableView } from '../model/view.ts'
import type { Taken } from '../store/mirror/access.ts'
import { GENERATED } from './generated.ts'
import { applyRailLanes } from './lanes.ts'
import type { ApplySession } from './session.ts'

const RAW_COLUMNS = columnsWhere(submissions, ({ kind }) => kind === 'raw')

/**
 * Applies a state view: the submission's columns and the rows of its lists. Sets `gone_at` of rows that the view no
 * longer shows. Leaves columns and lists outside the view unchanged.
 * @returns `new`: the view was applied. `same`: only volatile values (see `Field.volatile`) were stored, because all
 * other values equal the last applied view. `stale`: nothing was applied, because a newer read was applied before
 * (trap 81).
 */
export async function applyState(session: ApplySession, observation: StateObservation): Promise<Taken> {
  const taken = await session.access.takeApplied(observation)
  if (taken === 'same') await applyVolatile(session, observation)
  if (taken !== 'new') return taken
  applySubmission(session, observation)
  for (const entity of entities) {
    const shown = tableView(observation.view, entity)
    if (shown === null) continue
    if (entity.table === lanes.table) await applyRailLanes(session, observation, shown)
    else await applyRows(session, entity, observation, shown)
  }
  return taken
}

function applySubmission(session: ApplySession, observation: StateObservation): void {
  const { submission } = observation.view
  if (submission === null) return
  const stored = session.submissions.get({ account: observation.account, submission_id: observation.submissionId })
  if (stored === null) return
  const next: Row = { ...stored, ...submission, ...readTimes(observation) }
  // If the JSON differs only in the keys in `GENERATED`, the stored JSON stays and doesn't count as changed.
  for (const column of RAW_COLUMNS) Object.assign(next, rawOf(column, GENERATED, stored, next))
  session.submissions.put(next as SubmissionRow, observation.cause)
}

/** Stores only the volatile values of a view (see `Field.volatile`). Called if the other values are unchanged. */
async function applyVolatile(session: ApplySession, observation: StateObservation): Promise<void> {
  const place = { account: observation.account, submission_id: submissionIn(observation) }
  const shown = entities.map((entity) => ({ entity, rows: tableView(observation.view, entity)?.rows ?? [] }))
  const { submission } = observation.view
  if (submission !== null) shown.push({ entity: submissions, rows: [{ ...submission, ...readTimes(observation) }] })
  for (const { entity, rows } of shown) {
    const columns = new Set(columnsWhere(entity, ({ volatile }) => volatile === true))
    if (columns.size === 0) continue
    const set = session.of(entity)
    const placed = rows.map((row): Row => ({ ...row, ...place }))
    await set.load(placed)
    for (const row of placed) {
      const stored = set.get(row)
      const current = Object.fromEntries(Object.entries(row).filter(([column]) => columns.has(column)))
      if (stored !== null) set.put({ ...stored, ...current }, observation.cause)
    }
  }
}

/**
 * @returns `state_read_at`, and `<part>_read_at` for each part that the requirements view contains.
 * Empty for other reads.
 */
function readTimes({ read, view, readAt }: StateObservation): Row {
  if (read !== 'requirements') return {}
  return Object.fromEntries(['state', ...partsShown(view)].map((part) => [`${part}_read_at`, readAt]))
}

async function applyRows(session: ApplySession, entity: Entity, observation: StateObservation, shown: TableView): Promise<void> {
  const set = session.of(entity)
  const volatile = new Set(columnsWhere(entity, (field) => field.volatile === true))
  const keepsGone = 'gone_at' in entity.columns
  // Two kinds of reads may fill one table. The kind in `entity.read` fills `raw` and most columns. The other kind fills
  // only the columns whose `Field.read` names this kind. If a row has `raw`, only the first kind marks the row as gone.
  // If a row has no `raw`, only the other kind marks the row as gone.
  const isOwn = entity.read === observation.read
  const shares = columnsWhere(entity, ({ read }) => read !== undefined).length > 0
  const ofRead = columnsWhere(entity, ({ read }) => (isOwn ? read === undefined : read === observation.read))
  // A raw column with links is always replaced, to store the newest links.
  const rawColumn = ofRead.find((column) => entity.columns[column] === 'raw' && entity.fields[column]?.link !== true)
  const decides = (row: Row) => !shares || hasValue(row['raw']) === isOwn
  const place = { account: observation.account, submission_id: submissionIn(observation) }
  const rows = shown.rows.map((row): Row => ({ ...row, ...place }))
  const stored = await set.loadSubmission(observation.account, observation.submissionId)
  await set.load(rows)
  for (const row of rows) {
    const before = set.get(row)
    const former = before?.['submission_id'] ?? null
    if (typeof former === 'string' && former !== place.submission_id)
      session.movedPlaces.push({ ...observation, submissionId: former }, observation)
    const isHere = keepsGone && (isOwn || before === null || decides(before)) ? { gone_at: null } : {}
    set.merge({ ...row, ...seenAt(session, entity, before), ...isHere, ...rawOf(rawColumn, volatile, before, row) }, observation.cause)
  }
  if (!keepsGone) return
  const present = new Set(rows.map((row) => keyText(entity, row)))
  for (const row of stored) {
    if (present.has(keyText(entity, row)) || !shown.saysGone(row)) continue
    if (!isOwn) set.put({ ...row, ...Object.fromEntries(ofRead.map((column) => [column, null])) }, observation.cause)
    const left = set.get(row) ?? row
    if (!hasValue(row['gone_at']) && decides(row)) set.put({ ...left, gone_at: observation.readAt }, observation.cause)
  }
}

function seenAt({ now }: ApplySession, { columns }: Entity, before: Row | null): Row {
  return 'first_seen_at' in columns && !hasValue(before?.['first_seen_at']) ? { first_seen_at: now } : {}
}

/**
 * @returns the raw column with its value; empty if `column` is undefined. If the received text differs only in volatile
 * values, the stored text stays.
 */
function rawOf(column: string | undefined, volatile: ReadonlySet<string>, before: Row | null, row: Row): Row {
  if (column === undefined) return {}
  const isSame = before !== null && sameRawBut(volatile, before[column], row[column])
  return { [column]: (isSame ? before[column] : row[column]) ?? null }
}

/** Whether two JSON texts are equal. Ignores the values under `keys`, at any depth. */
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
