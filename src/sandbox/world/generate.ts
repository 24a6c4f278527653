import { PLAN_LENGTH_MS, planSubmission, type SubmissionPlan } from './plan.ts'
import type { Prng } from './prng.ts'
import type { TimedStep } from './story.ts'
import type { PlanStep, World } from './world.ts'

export interface GenerateOptions {
  readonly account: string
  readonly brokerageDomain: string
  readonly submissions: number
  /** The moment at which the live story begins. */
  readonly startMs: number
}

/** History is told at this many times the pace of the live story backwards: minutes there were days. */
const HISTORY_STRETCH = 1_200
/** The newest history lies this far back. */
const HISTORY_GAP_MS = 3 * 3_600_000
/** Submissions made while the story runs are made within this story time. */
const LAST_START_MS = 60_000

/**
 * Makes up the submissions of one account and puts them into `world`: some are over, some are under way (their past is
 * told at once and quietly: no webhook repeats history), some begin only now.
 * @returns what is still to happen, in no particular order.
 */
export function generateAccount(world: World, prng: Prng, options: GenerateOptions): TimedStep[] {
  const live: TimedStep[] = []
  for (let n = 0; n < options.submissions; n++) {
    const own = prng.fork(`submission ${n}`)
    const plan = planSubmission(own, options)
    world.addSubmission(options.account, plan.submissionId, plan.facts)
    // One in seven is over, half of the others are under way; the first is always new and the second always under way.
    const share = n === 0 ? 0 : n === 1 ? 0.4 : own.pick([0, 0, 0, 0.3, 0.5, 0.7, 1])
    live.push(...begin(world, own, options, plan, share * PLAN_LENGTH_MS))
  }
  return live
}

function begin(world: World, prng: Prng, options: GenerateOptions, plan: SubmissionPlan, nowMs: number): TimedStep[] {
  const { account } = options
  const past = nowMs > 0 ? plan.steps.filter((step) => step.atMs <= nowMs) : []
  for (const step of past) {
    const atMs = options.startMs - HISTORY_GAP_MS - (nowMs - step.atMs) * HISTORY_STRETCH
    world.play(account, plan.submissionId, step.actions, atMs, true)
  }
  const delayMs = nowMs === 0 ? prng.int(1_000, LAST_START_MS) : 0
  const place = (step: PlanStep): TimedStep => ({ ...step, atMs: step.atMs - nowMs + delayMs, account, submissionId: plan.submissionId })
  return plan.steps.slice(past.length).map(place)
}
