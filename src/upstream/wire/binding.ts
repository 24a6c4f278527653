import { z } from 'zod'
import { insureds } from '../../model/entities/insureds.ts'
import { policies } from '../../model/entities/policies.ts'
import type { Row } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { IdRead } from '../../model/reads.ts'
import type { RecordFields } from '../../model/record-fields.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { View } from '../../model/view.ts'
import { date, flag, id, jsonOf, keyOf, list, rawOf, required, said, text, textOf, time, uuid } from './fields.ts'
import { type Given, type Item, itemsIn, keyedRows } from './items.ts'
import { recordColumns } from './record-fields.ts'

/** Readers of what has an id of its own: bind requests, policies, insureds. */

const bindRequest = z.looseObject({
  bind_request_id: required(parseUuid),
  status: required(textOf),
  status_label: text,
  quote_id: id,
  payment_option: text,
  requested_at: time,
  requested_by: text,
  effective_date: date,
  policy_id: uuid,
  next_steps: list,
})

const assumption = z.looseObject({ key: required(keyOf), label: text })
const { policy_number, carrier_name, effective_date, expiration_date, total_billed_cents, commission_cents } = policies.fields
const policyColumns = { policy_number, carrier_name, effective_date, expiration_date, total_billed_cents, commission_cents }
const { legal_name, dba_name } = insureds.fields
const insuredColumns = { legal_name, dba_name }

const contingency = z.looseObject({
  id: required(keyOf),
  kind: text,
  label: text,
  status: text,
  required: flag,
  upload_path: text,
  esign_status: text,
})

/** How a record whose fields are not shown is read. */
export interface RecordReading {
  readonly recordFields: RecordFields
  /** A tax id is never a column's value, whatever path leads to it. */
  readonly protection: Pick<Protection, 'dropped'>
}

/** @returns null when the answer is not the object that was asked for. */
export function readById(read: IdRead, ownId: string, raw: unknown, { recordFields, protection }: RecordReading): View | null {
  if (read === 'bind_request') return readBindRequest(ownId, raw)
  const kept = rawOf(raw)
  // Their fields are not shown (trap 57).
  if (!isObject(raw) || kept === null) return null
  const record = protection.dropped(kept)
  return read === 'policy'
    ? recordView('policies', { policy_id: ownId }, { ...recordColumns(record, policyColumns, recordFields.policies), raw: kept })
    : recordView('insureds', { insured_id: ownId }, { ...recordColumns(record, insuredColumns, recordFields.insureds), raw: kept })
}

function recordView(table: string, of: Row, columns: Row): View {
  return { submission: null, lists: [{ table, of, rows: [{ ...of, ...columns }], whole: true }], unreadable: [] }
}

/** The view of an answer "not found": what has the id is gone. */
export function goneById(read: IdRead, ownId: string): View {
  const table = { bind_request: 'bind_requests', policy: 'policies', insured: 'insureds' }[read]
  return { submission: null, lists: [{ table, of: { [`${read}_id`]: ownId }, rows: [], whole: true }], unreadable: [] }
}

function readBindRequest(ownId: string, raw: unknown): View | null {
  const read = bindRequest.safeParse(raw).data
  const kept = rawOf(raw)
  if (!read || kept === null || read.bind_request_id !== ownId) return null
  const { status, status_label, quote_id, payment_option, requested_at, requested_by, effective_date, policy_id, next_steps } = read
  const columns = { status, status_label, quote_id, payment_option, requested_at, requested_by, effective_date, policy_id, next_steps }
  const of = { bind_request_id: ownId }
  const assumptions = keyedRows(positioned(itemsIn(raw, 'unconfirmed_assumptions')), 'key', readAssumption)
  const contingencies = keyedRows(itemsIn(raw, 'contingencies'), 'contingency_id', readContingency)
  const parts = [
    { table: 'bind_assumptions', read: assumptions },
    { table: 'bind_contingencies', read: contingencies },
  ]
  return {
    submission: null,
    lists: [
      { table: 'bind_requests', of, rows: [{ ...(said(columns, raw) as Row), ...of, raw: kept }], whole: true },
      ...parts.map(({ table, read }) => ({ table, of, rows: read.rows.map((row) => ({ ...row, ...of })), whole: read.whole })),
    ],
    unreadable: parts.flatMap(({ read }) => read.unreadable),
  }
}

function positioned(items: readonly Given[] | null): Given[] | null {
  // A null and an absent value look alike in the column; `raw` tells them apart (trap 70).
  return (
    items?.map(({ raw }, position) => ({ raw, beside: { position, value: isObject(raw) ? jsonOf(raw['value'] ?? null) : null } })) ?? null
  )
}

function readAssumption(raw: unknown): Item | null {
  const read = assumption.safeParse(raw).data
  return read ? { id: read.key, columns: { label: read.label } } : null
}

function readContingency(raw: unknown): Item | null {
  const read = contingency.safeParse(raw).data
  if (!read) return null
  const { id: own, kind, label, status, required, upload_path, esign_status } = read
  return { id: own, columns: { kind, label, status, required, upload_path, esign_status } }
}
