import type { Program } from './catalogue.ts'
import { begunSession, openedLane, requirement } from './lanes.ts'
import { questionOf } from './questions.ts'
import type { LaneInit, Submission } from './submission.ts'
import type { CarrierSession } from './wire.ts'

/** @returns a question's label. */
export function labelOf(key: string): string {
  return questionOf(key)?.label ?? key
}

/**
 * @param lines the submission's lines that the program takes.
 * @returns the lane of a program: what the broker has not answered is asked for, by the carrier's session or as a requirement.
 */
export function openLane(submission: Submission, program: Program, lines: readonly string[], atMs: number): LaneInit {
  const { market } = program
  const laneId = submission.newId()
  const asked = program.asks.filter((key) => !Object.hasOwn(submission.records.answers, key))
  const files = program.needs.filter((label) => !submission.records.provided?.includes(label))
  const needs = [...asked.map(labelOf), ...files]
  const session = market.channel === 'api' ? newSession(submission, program, asked) : null
  const questions = session ? [] : asked.map((key) => requirement(key, labelOf(key), 'structured', false))
  const signed = requirement('signed_application', 'Signed application', 'form', null)
  return openedLane({
    laneId,
    program,
    lines,
    needs,
    nextStep: `Provide: ${needs.join(', ')}`,
    obtains: market.category === 'specialty' ? ['Statement of values'] : [],
    items: {
      met: [],
      unmet: [...questions, ...files.map((label) => requirement(null, label, 'file', false))],
      deferred: [{ ...signed, due_stage: 'bind', blocks_submission: null }],
    },
    session,
    atMs,
  })
}

function newSession(submission: Submission, { market }: Program, asked: readonly string[]): CarrierSession {
  const missing_questions = asked.map((key) => ({ key, label: labelOf(key) }))
  return begunSession(submission.newId(), market, { completion_pct: asked.length === 0 ? 90 : 60, missing_questions })
}
