import { z } from 'zod'
import type { Requirements, ViewList } from '../../model/records.ts'
import { parseUuid } from '../../model/uuid.ts'
import { flag, id, keyOf, list, number, required, text, time, uuid } from './fields.ts'
import { type Given, type Item, itemsIn, type KeyedRows, keyedRows } from './items.ts'

/** Readers of what the requirements view tells beside the rail: readiness, carrier sessions, documents on file, and the assessment. */

const market = z.looseObject({
  market_name: text,
  ready: flag,
  needs_from_you: list,
  hedge_obtains: list,
  lane_id: uuid,
  program: text,
  program_category: text,
  category_label: text,
})

const session = z.looseObject({
  session_id: required(keyOf),
  carrier_slug: text,
  program: text,
  status: text,
  outcome: text,
  completion_pct: number,
  missing_questions: list,
  has_quote: flag,
})

const documentOnFile = z.looseObject({ kind: text, kind_label: text, display_name: text })

const program = z.looseObject({
  submission_market_id: required(parseUuid),
  market_name: text,
  program_id: id,
  program_display_name: text,
  channel: text,
  program_category: text,
  enforcement: text,
  submit_ready: flag,
  evaluated_at: time,
})

const requirement = z.looseObject({
  key: text,
  label: text,
  severity: text,
  resolution: text,
  repr: text,
  form_key: text,
  due_stage: text,
  satisfied: flag,
  blocks_submission: flag,
})

/** @returns the lists that the view has. Null and absent mean unknown (trap 64): then there is no list. */
export function readReadiness(view: Readonly<Record<string, unknown>>): Pick<Requirements, 'lists' | 'unreadable'> {
  const found: Found = { lists: [], unreadable: [] }
  add(found, 'market_readiness', keyedRows(itemsIn(view, 'markets'), 'readiness_key', readMarket))
  add(found, 'carrier_api_sessions', keyedRows(itemsIn(view, 'carrier_api_sessions'), 'session_id', readSession))
  add(found, 'documents_on_file', keyedRows(itemsIn(view, 'documents_on_file'), 'item_key', readDocument))
  const programs = itemsIn(view['assessment'], 'programs')
  add(found, 'program_assessments', keyedRows(programs, 'lane_id', readProgram))
  for (const [laneId, raw] of byLane(programs ?? [])) addRequirements(found, laneId, raw)
  return found
}

interface Found {
  readonly lists: ViewList[]
  readonly unreadable: string[]
}

function add({ lists, unreadable }: Found, table: string, rows: KeyedRows, of: ViewList['of'] = {}): void {
  if (!rows.isThere) return
  lists.push({ table, of, rows: rows.rows, whole: rows.whole })
  unreadable.push(...rows.unreadable)
}

/** The readable programs, one for each lane: the last counts. */
function byLane(programs: readonly Given[]): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  for (const { raw } of programs) {
    const read = program.safeParse(raw).data
    if (read) found.set(read.submission_market_id, raw)
  }
  return found
}

/** The three lists of a program make one: a requirement that is met meanwhile moves from one to another. */
function addRequirements(found: Found, laneId: string, raw: unknown): void {
  const of = { lane_id: laneId }
  const results = ['met', 'unmet', 'deferred'] as const
  const lists = results.map((result) => itemsIn(raw, result)?.map((item): Given => ({ ...item, beside: { ...of, result } })) ?? null)
  if (lists.every((items) => items === null)) return
  const rows = keyedRows(
    lists.flatMap((items) => items ?? []),
    'item_key',
    readRequirement,
  )
  add(found, 'requirement_items', { ...rows, whole: rows.whole && !lists.includes(null) }, of)
}

function readMarket(raw: unknown): Item | null {
  const read = market.safeParse(raw).data
  if (!read) return null
  const { market_name, ready, needs_from_you, hedge_obtains, lane_id, program, program_category, category_label } = read
  const columns = { market_name, ready, needs_from_you, hedge_obtains, lane_id, program, program_category, category_label }
  return { key: lane_id, identity: [market_name, program], columns }
}

function readSession(raw: unknown): Item | null {
  const read = session.safeParse(raw).data
  if (!read) return null
  const { session_id, carrier_slug, program, status, outcome, completion_pct, missing_questions, has_quote } = read
  return {
    id: session_id,
    columns: { carrier_slug, program, status, outcome, completion_pct, missing_questions, has_quote },
  }
}

function readDocument(raw: unknown): Item | null {
  const read = documentOnFile.safeParse(raw).data
  if (!read) return null
  const { kind, kind_label, display_name } = read
  return { key: null, identity: [kind, display_name], columns: { kind, kind_label, display_name } }
}

function readProgram(raw: unknown): Item | null {
  const read = program.safeParse(raw).data
  if (!read) return null
  const { market_name, program_id, program_display_name, channel, program_category, enforcement, submit_ready, evaluated_at } = read
  return {
    id: read.submission_market_id,
    columns: { market_name, program_id, program_display_name, channel, program_category, enforcement, submit_ready, evaluated_at },
  }
}

function readRequirement(raw: unknown): Item | null {
  const read = requirement.safeParse(raw).data
  if (!read) return null
  const { key, label, severity, resolution, repr, form_key, due_stage, satisfied, blocks_submission } = read
  return {
    key: keyOf(key),
    identity: [label],
    columns: { key, label, severity, resolution, repr, form_key, due_stage, satisfied, blocks_submission },
  }
}
