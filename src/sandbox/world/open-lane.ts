import { timeFromMs } from '../../model/time.ts'
import type { Program } from './catalogue.ts'
import { categoryLabels } from './names.ts'
import { questionOf } from './questions.ts'
import type { LaneInit, Submission } from './submission.ts'
import type { CarrierSession, RequirementItem } from './wire.ts'

/** @returns a question's label. */
export function labelOf(key: string): string {
  return questionOf(key)?.label ?? key
}

/**
 * @param lines the submission's lines that the program takes.
 * @returns the lane of a program: what the broker has not answered is asked for, by the carrier's session or as a requirement.
 */
export function openLane(submission: Submission, program: Program, lines: readonly string[], atMs: number): LaneInit {
  const { market, programId, marketId } = program
  const laneId = submission.newId()
  const asked = program.asks.filter((key) => !Object.hasOwn(submission.records.answers, key))
  const files = program.needs.filter((label) => !submission.records.provided?.includes(label))
  const needs = [...asked.map(labelOf), ...files]
  const ready = needs.length === 0
  const named = { market_name: market.name, program: market.program, program_category: market.category }
  const session = market.channel === 'api' ? newSession(submission, program, asked) : null
  const unmet = session ? files.map(fileItem) : [...asked.map((key) => item(key, labelOf(key), 'structured')), ...files.map(fileItem)]
  return {
    rail: {
      ...named,
      submission_market_id: laneId,
      market_id: marketId,
      program_id: programId,
      lines,
      status: 'submitted',
      status_label: 'Submitted',
      submit_ready: ready,
      gapped: !ready,
      unmet_labels: needs,
      quotes: [],
      source_offers: [],
      bound: false,
      chip: ready ? 'in_progress' : 'needs_info',
      carrier_api_session_ids: session ? [session.session_id] : [],
      next_step: ready ? null : `Provide: ${needs.join(', ')}`,
    },
    market: {
      ...named,
      ready,
      needs_from_you: needs,
      hedge_obtains: market.category === 'specialty' ? ['Statement of values'] : [],
      lane_id: laneId,
      category_label: categoryLabels[market.category],
    },
    assessment: {
      submission_market_id: laneId,
      market_name: market.name,
      program_id: programId,
      program_display_name: market.program,
      channel: market.channel,
      program_category: market.category,
      enforcement: market.category === 'specialty' ? 'enforce' : 'report_only',
      submit_ready: ready,
      met: [],
      unmet,
      deferred: [
        { ...item('signed_application', 'Signed application', 'form'), satisfied: null, due_stage: 'bind', blocks_submission: null },
      ],
      evaluated_at: timeFromMs(atMs),
    },
    session,
  }
}

function newSession(submission: Submission, { market }: Program, asked: readonly string[]): CarrierSession {
  return {
    session_id: submission.newId(),
    carrier_slug: market.slug,
    program: market.program,
    status: 'running',
    outcome: null,
    completion_pct: asked.length === 0 ? 90 : 60,
    missing_questions: asked.map((key) => ({ key, label: labelOf(key) })),
    has_quote: false,
  }
}

const fileItem = (label: string) => item(null, label, 'file')

function item(key: string | null, label: string, repr: RequirementItem['repr']): RequirementItem {
  return {
    ...{ key, label, repr, severity: 'hard', resolution: 'broker', form_key: null },
    ...{ due_stage: 'quote', satisfied: false, blocks_submission: true },
  }
}
