import { PLAN_LENGTH_MS, planSubmission, type SubmissionPlan } from './plan.ts'
import type { Prng } from './prng.ts'
import type { TimedStep } from './story.ts'
import { taxIdOf } from './tax-id.ts'
import type { PlanStep, World } from './world.ts'

export interface GenerateOptions {
  readonly account: string
  readonly brokerageDomain: string
  readonly submissions: number
  /** The moment at which the live story begins. */
  readonly startMs: number
}

/** Past steps are spread over this many times their story time: minutes become days. */
const HISTORY_STRETCH = 1_200
/** Time between the newest history and the start. */
const HISTORY_GAP_MS = 3 * 3_600_000
/** New submissions start within this story time. */
const LAST_START_MS = 60_000

/**
 * Generates the submissions of one account and adds them to `world`. Some are finished, some are in progress and some are new. Past steps
 * are played at once without deliveries.
 * @returns the remaining steps, unordered.
 */
export function generateAccount(world: World, prng: Prng, options: GenerateOptions): TimedStep[] {
  const live: TimedStep[] = []
  for (let n = 0; n < options.submissions; n++) {
    const own = prng.fork(`submission ${n}`)
    const plan = planSubmission(own, options)
    world.addSubmission(options.account, plan.submissionId, plan.facts, taxIdOf(plan.facts.insured_name))
    // 1 of 7 is finished, 3 are in progress, 3 are new. The first is always new, the second always in progress.
    const share = n === 0 ? 0 : n === 1 ? 0.4 : own.pick([0, 0, 0, 0.3, 0.5, 0.7, 1])
    live.push(...addPlan(world, own, options, plan, share * PLAN_LENGTH_MS))
  }
  return live
}

function addPlan(world: World, prng: Prng, options: GenerateOptions, plan: SubmissionPlan, nowMs: number): TimedStep[] {
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
