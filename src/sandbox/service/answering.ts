import { z } from 'zod'
import { programs } from '../world/catalogue.ts'
import type { Plain } from '../world/plain.ts'
import { answerProblem, labelOf, questionOf } from '../world/questions.ts'
import type { Lane, Submission } from '../world/submission.ts'
import { applicationOf, applicationRecord, noteAnswer, sourceFrom } from './applications.ts'
import { outstandingView } from './details.ts'
import type { BuiltParts } from './parts.ts'

export const answersBody = z.object({
  answers: z.array(z.object({ key: z.string(), value: z.json() })),
  producer_email: z.string().optional(),
})

export function answerOutstanding(
  parts: BuiltParts,
  submission: Submission,
  answers: z.output<typeof answersBody>['answers'],
  atMs: number,
) {
  const applied: string[] = []
  const skipped: { key: string; reason: string }[] = []
  const routed = new Set<string>()
  for (const { key, value } of answers) {
    const item = outstandingView(submission).items.find((other) => other.key === key)
    const question = questionOf(key.replace(/^question:/, ''))
    const problem = !item
      ? 'not outstanding'
      : !question
        ? 'needs a file: upload it, or reply in the thread'
        : answerProblem(question, value)
    if (problem !== null || !question) {
      skipped.push({ key, reason: problem ?? 'not outstanding' })
      continue
    }
    for (const session of applyAnswer(parts, submission, question.key, value as Plain, atMs)) routed.add(session)
    applied.push(key)
  }
  return { applied, skipped, routed: routed.size }
}

/**
 * Stores an answer in the submission's records and on each lane that asks the question.
 * @returns ids of the carrier sessions that asked the question.
 */
export function applyAnswer({ world, life }: BuiltParts, submission: Submission, key: string, value: Plain, atMs: number): string[] {
  submission.records.answers[key] = value
  const sessions: string[] = []
  for (const lane of [...submission.lanes.values()]) {
    const asks = lane.session?.missing_questions.some((asked) => asked.key === key) ?? false
    if (!asks && !lane.assessment.unmet.some((item) => item.key === key)) continue
    if (asks && lane.session) sessions.push(lane.session.session_id)
    const questions = (lane.session?.missing_questions ?? []).filter((asked) => asked.key !== key)
    const patched = satisfy(lane, labelOf(key), (item) => item.key === key)
    const session = { missing_questions: questions, completion_pct: questions.length === 0 ? 90 : 60 }
    world.play(
      submission.account,
      submission.id,
      [{ do: 'patch_lane', laneId: lane.rail.submission_market_id, patch: { ...patched, ...(asks && { session }) } }],
      atMs,
    )
    life.proceed(submission, submission.lane(lane.rail.submission_market_id), atMs)
  }
  for (const lane of submission.lanes.values()) {
    // Also stores the answer in each application that shows this question. Until now, the application may
    // have assumed an answer.
    const application = applicationOf(submission, lane)
    if (!application?.visible_fields.includes(key)) continue
    const record = applicationRecord(submission, application.application_id)
    record.commands++
    noteAnswer(record, key, value, application.answer_revision + 1, sourceFrom('outstanding', 'broker_portal'))
  }
  return sessions
}

/** Asks a lane's question again after its answer was cleared. */
export function reopen({ world }: BuiltParts, submission: Submission, laneId: string, key: string, atMs: number): void {
  const { market, rail, session } = submission.lane(laneId)
  if (!session || session.missing_questions.some((asked) => asked.key === key)) return
  const label = labelOf(key)
  const needs = [...market.needs_from_you, label]
  delete submission.records.answers[key]
  const patch = {
    rail: {
      submit_ready: false,
      gapped: true,
      unmet_labels: needs,
      ...(rail.chip === 'in_progress' && { chip: 'needs_info' as const, next_step: `Provide: ${needs.join(', ')}` }),
    },
    market: { ready: false, needs_from_you: needs },
    assessment: { submit_ready: false },
    session: { missing_questions: [...session.missing_questions, { key, label }], completion_pct: 60 },
  }
  world.play(submission.account, submission.id, [{ do: 'patch_lane', laneId, patch }], atMs)
}

/**
 * Applies an uploaded file. If the file's name mentions loss runs (reports of earlier claims), current and future
 * lanes no longer require loss runs. Other files have no effect.
 */
export function applyFile(parts: BuiltParts, submission: Submission, name: string, atMs: number): void {
  if (!LOSS_RUNS.test(name)) return
  const needed = [...openFiles(submission), ...programs.flatMap(({ needs }) => needs)]
  for (const label of new Set(needed)) if (LOSS_RUNS.test(label)) provide(parts, submission, label, atMs)
}

const LOSS_RUNS = /loss.?run/i

/**
 * Applies the files of a reply in the thread. If only one required file is open, the reply provides this file.
 * Otherwise, the reply provides each required file whose label shares a word with the reply's text or file names. Only
 * words of five or more letters count.
 */
export function applyReply(
  parts: BuiltParts,
  submission: Submission,
  reply: { readonly text: string; readonly documentIds: readonly string[] },
  atMs: number,
): void {
  const names = submission.records.documents.filter(({ id }) => reply.documentIds.includes(id)).map(({ displayName }) => displayName)
  if (names.length === 0) return
  const outstanding = openFiles(submission)
  const words = [reply.text, ...names].join(' ').toLowerCase()
  const isMeant = (label: string) =>
    outstanding.length === 1 ||
    label
      .toLowerCase()
      .match(/[a-z]{5,}/g)
      ?.some((word) => words.includes(word))
  for (const label of outstanding) if (isMeant(label)) provide(parts, submission, label, atMs)
}

function openFiles(submission: Submission): string[] {
  return outstandingView(submission).items.flatMap(({ input, label }) => (input === 'file' ? [label] : []))
}

function provide({ world, life }: BuiltParts, submission: Submission, label: string, atMs: number): void {
  const { provided = [] } = submission.records
  if (!provided.includes(label)) submission.records.provided = [...provided, label]
  for (const lane of [...submission.lanes.values()]) {
    const item = lane.assessment.unmet.find((other) => other.repr === 'file' && other.label === label)
    if (!item) continue
    const patch = satisfy(lane, label, (other) => other === item)
    world.play(submission.account, submission.id, [{ do: 'patch_lane', laneId: lane.rail.submission_market_id, patch }], atMs)
    life.proceed(submission, submission.lane(lane.rail.submission_market_id), atMs)
  }
}

function satisfy({ rail, market, assessment }: Lane, label: string, isMet: (item: Lane['assessment']['unmet'][number]) => boolean) {
  const needs = market.needs_from_you.filter((need) => need !== label)
  const ready = needs.length === 0
  const [met, unmet] = [assessment.unmet.filter(isMet), assessment.unmet.filter((item) => !isMet(item))]
  return {
    rail: {
      submit_ready: ready,
      gapped: !ready,
      unmet_labels: needs,
      ...(rail.chip === 'needs_info' && ready && { chip: 'in_progress' as const, next_step: null }),
    },
    market: { ready, needs_from_you: needs },
    assessment: {
      submit_ready: ready,
      met: [...assessment.met, ...met.map((item) => ({ ...item, satisfied: true, blocks_submission: false }))],
      unmet,
    },
  }
}
