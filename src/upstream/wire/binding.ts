import { bindAssumptions } from '../../model/entities/bind-assumptions.ts'
import { bindContingencies } from '../../model/entities/bind-contingencies.ts'
import { bindRequests } from '../../model/entities/bind-requests.ts'
import { insureds } from '../../model/entities/insureds.ts'
import { policies } from '../../model/entities/policies.ts'
import type { Row } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { IdRead } from '../../model/reads.ts'
import type { RecordFields } from '../../model/record-fields.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { View } from '../../model/view.ts'
import { rawOf } from './fields.ts'
import { itemsIn, Lists } from './lists.ts'
import { recordColumns } from './record-fields.ts'
import { rowOf } from './row.ts'

const tables = { bind_request: bindRequests, policy: policies, insured: insureds } as const

interface RecordReading {
  readonly recordFields: RecordFields
  /** Removes tax ids before values become columns. */
  readonly protection: Pick<Protection, 'dropped'>
}

/**
 * Reads a bind request, a policy, or an insured.
 * @returns null if the answer isn't a record of this kind, or is another bind request than the requested one.
 */
export function readById(read: IdRead, ownId: string, raw: unknown, { recordFields, protection }: RecordReading): View | null {
  if (read === 'bind_request') return readBindRequest(ownId, raw)
  const kept = rawOf(raw)
  // Accept any object, because the specification doesn't define the fields of policies and insureds (trap 57).
  if (!isObject(raw) || kept === null) return null
  const paths = read === 'policy' ? recordFields.policies : recordFields.insureds
  const view = viewById(read, ownId, { ...recordColumns(protection.dropped(kept), tables[read].fields, paths), raw: kept })
  // A policy belongs to one submission. An insured can have several, so it gets no submission here.
  return read === 'policy' ? { ...view, ownSubmissionId: parseUuid(raw['submission_id']) } : view
}

/** @returns the view for a 404 answer. Applying this view marks the record as gone. */
export function goneById(read: IdRead, ownId: string): View {
  return viewById(read, ownId, null)
}

function viewById(read: IdRead, ownId: string, columns: Row | null): View {
  const of = { [`${read}_id`]: ownId }
  const rows = columns === null ? [] : [{ ...of, ...columns }]
  return { submission: null, lists: [{ table: tables[read].table, of, rows, whole: true }], unreadable: [] }
}

function readBindRequest(ownId: string, raw: unknown): View | null {
  const row = rowOf(bindRequests, raw)
  if (row === null || row['bind_request_id'] !== ownId) return null
  const of = { bind_request_id: ownId }
  const found = new Lists()
  found.lists.push({ table: bindRequests.table, of, rows: [row], whole: true })
  found.read(bindAssumptions, itemsIn(raw, 'unconfirmed_assumptions'), { of, addColumns: (_, position) => ({ position }) })
  found.read(bindContingencies, itemsIn(raw, 'contingencies'), { of })
  const ownSubmissionId = parseUuid(isObject(raw) ? raw['submission_id'] : null)
  return { submission: null, lists: found.lists, unreadable: found.unreadable, ownSubmissionId }
}
