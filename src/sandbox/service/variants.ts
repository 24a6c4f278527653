import { isObject } from '../../model/json.ts'
import { uuidOf } from '../world/ids.ts'
import { Prng } from '../world/prng.ts'
import type { MarketEvent, ThreadMessage } from '../world/wire.ts'
import type { Unshown } from './unshown.ts'

/**
 * An object in an answer. The functions in `contents` change the emulated data, also for `Sandbox.truth`. The functions
 * in `forms` change only how an answer shows the data, such as the names of fields.
 */

type Part = Readonly<Record<string, unknown>>
type Change = (value: Part, unshown: Unshown) => unknown

function objectsIn(value: unknown): Part[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function renamed(object: Part, from: string, to: string): Part {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key === from ? to : key, value]))
}

function renamedIn(answer: Part, list: string, from: string, to: string): Part {
  return { ...answer, [list]: objectsIn(answer[list]).map((item) => renamed(item, from, to)) }
}

const SENSITIVE = [
  { value: 'ssn', label: 'Social security number' },
  { value: 'fein', label: 'Federal tax id' },
]

const contents: Readonly<Record<string, Change>> = {
  requirements: (view, unshown) => {
    const isReduced = new Prng(String(view['submission_id'])).chance(0.5)
    const parts = isReduced ? unshown.word('partial_view') : 'whole'
    const isNull = unshown.word('null_fields') === 'requirements'
    const { assessment, rail } = view as { readonly assessment: Part | null; readonly rail: Part | null }
    return {
      ...view,
      ...(isNull && { effective_date: null }),
      markets: withMarkets(objectsIn(view['markets']), unshown),
      assessment: parts === 'no_assessment' || parts === 'neither' ? null : assessment && withPrograms(assessment, unshown),
      rail: parts === 'no_rail' || parts === 'neither' ? null : rail && isNull ? withoutPrograms(rail) : rail,
    }
  },
  outstanding: (view, unshown) => {
    if (unshown.word('option_values') === 'plain') return view
    const withOptions = (item: Part) => ({ ...item, options: [...objectsIn(item['options']), ...SENSITIVE] })
    return { ...view, items: objectsIn(view['items']).map((item) => (item['source'] === 'carrier_question' ? withOptions(item) : item)) }
  },
  workspace: (view, unshown) => ({
    ...view,
    ...(unshown.word('legacy_workspace_id') === 'null' && view['workflow_version'] === 'legacy' && { workspace_id: null }),
    ...(unshown.word('null_fields') === 'workspace' && {
      applications: objectsIn(view['applications']).map((one) => ({ ...one, connection_id: null, result: null })),
    }),
    ...(unshown.word('null_fields') === 'facts' && { facts: null }),
  }),
}

/**
 * @returns the markets. With the variant `programs_of_lane=two`, a second program of the same lane is added after each
 * market that has a lane.
 */
function withMarkets(markets: readonly Part[], unshown: Unshown): readonly Part[] {
  if (unshown.word('programs_of_lane') === 'one') return markets
  const second = (market: Part) => ({ ...market, program: `${market['program']} Plus`, needs_from_you: ['Payroll (Plus)'] })
  return markets.flatMap((market) => (market['lane_id'] === null ? [market] : [market, second(market)]))
}

function withPrograms(assessment: Part, unshown: Unshown): Part {
  if (unshown.word('programs_of_lane') === 'one') return assessment
  const second = (program: Part) => ({
    ...program,
    program_id: uuidOf(`second program of ${program['submission_market_id']}`),
    program_display_name: `${program['program_display_name']} Plus`,
    unmet: objectsIn(program['unmet']).map((item) => ({ ...item, label: `${item['label']} (Plus)` })),
  })
  return { ...assessment, programs: objectsIn(assessment['programs']).flatMap((program) => [program, second(program)]) }
}

function withoutPrograms(rail: Part): Part {
  return { ...rail, lanes: objectsIn(rail['lanes']).map((lane) => ({ ...lane, program: null, program_id: null })) }
}

const forms: Readonly<Record<string, Change>> = {
  requirements: (view, unshown) => {
    const { rail } = view as { readonly rail: Part | null }
    if (unshown.word('offer_urls') === 'stable' || rail === null) return view
    const signature = uuidOf(String(rail['generated_at']))
    const signed = (offer: Part) => ({ ...offer, document_url: `${offer['document_url']}?expires=900&signature=${signature}` })
    const lanes = objectsIn(rail['lanes']).map((lane) => ({ ...lane, source_offers: objectsIn(lane['source_offers']).map(signed) }))
    return { ...view, rail: { ...rail, lanes } }
  },
  policy: (policy, unshown) => policyForm(policy, unshown),
  insured: (insured, unshown) => ({
    ...renamedIn(insured, 'submissions', 'submission_id', unshown.word('insured_submission_id_field')),
    policies: objectsIn(insured['policies']).map((policy) => policyForm(policy, unshown)),
  }),
  extra: (detail, unshown) => {
    if (unshown.word('detail_id_field') === 'named' || !('bind_requests' in detail)) return detail
    return renamedIn(renamedIn(detail, 'bind_requests', 'bind_request_id', 'id'), 'policies', 'policy_id', 'id')
  },
}

function policyForm(policy: Part, unshown: Unshown): Part {
  const { submission_id, ...rest } = renamed(policy, 'coverage_lines', unshown.word('policy_lines_field'))
  return unshown.word('policy_submission_id') === 'absent' ? rest : { ...rest, submission_id }
}

function listForm(items: readonly Part[], unshown: Unshown, operation: string): unknown {
  if (operation === 'list') {
    const field = unshown.word('list_id_field')
    return field === 'named' ? items : items.map((item) => renamed(renamed(item, 'submission_id', 'id'), 'insured_id', 'id'))
  }
  const sessions = items.map((item) => renamed(item, 'session_id', unshown.word('session_id_field')))
  switch (unshown.word('sessions_list')) {
    case 'bare':
      return sessions
    case 'sessions':
      return { sessions }
    case 'two_lists':
      return { carriers: sessions.map((_, index) => ({ slug: `carrier-${index}` })), sessions }
  }
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).flatMap(([key, part]) => (part === null ? [] : [[key, withoutNulls(part)]])))
}

/** @returns the view after the changes in `contents`. */
export function contentOf<T>(operation: string, view: T, unshown: Unshown): T {
  return isObject(view) && contents[operation] ? (contents[operation](view, unshown) as T) : view
}

export function answerOf(operation: string, body: unknown, unshown: Unshown): unknown {
  const view = contentOf(operation, body, unshown)
  if (operation === 'sessions') return listForm(objectsIn(view), unshown, operation)
  if (operation === 'list') {
    if (Array.isArray(view)) return listForm(objectsIn(view), unshown, operation)
    return isObject(view) ? { ...view, items: listForm(objectsIn(view['items']), unshown, operation) } : view
  }
  const formed = isObject(view) && forms[operation] ? forms[operation](view, unshown) : view
  return unshown.word('nulls') === 'absent' && NULLABLE.has(operation) ? withoutNulls(formed) : formed
}

/**
 * Reads in which null and a missing field mean the same. Feeds aren't included, because there a null
 * cursor means the end.
 */
const NULLABLE = new Set(['requirements', 'outstanding', 'workspace', 'bind_request', 'policy', 'insured', 'extra'])

/**
 * @returns an event as a delivery contains it. Depending on variants, its times, lines, and market name
 * differ from the feed.
 */
export function deliveredEvent(event: MarketEvent, unshown: Unshown): MarketEvent {
  const { market } = event
  return {
    ...event,
    occurred_at: deliveredTime(event.occurred_at, unshown),
    market: {
      ...market,
      name: unshown.word('delivered_market_name') === 'former' ? `${market.name} Insurance` : market.name,
      lines: unshown.word('delivered_lines') === 'reversed' ? market.lines.toReversed() : market.lines,
    },
  }
}

/** @returns a message as a delivery contains it. */
export function deliveredMessage(message: ThreadMessage, unshown: Unshown): ThreadMessage {
  return { ...message, occurred_at: deliveredTime(message.occurred_at, unshown) }
}

function deliveredTime(time: string, unshown: Unshown): string {
  return unshown.word('delivered_times') === 'milliseconds' ? time.replace(/(\.\d{3})\d+/, '$1') : time
}
