import { attachment, type Correspondence, chat, clearance, planUpdate, reply } from './correspondence.ts'
import { taxIdOf } from './ids.ts'
import { newLane } from './lanes.ts'
import { planMarket } from './market-plan.ts'
import { endings, type Market, markets, moreOwners, owners, producers, states, type Trade, trades } from './names.ts'
import type { Prng } from './prng.ts'
import type { TimedStep } from './story.ts'
import type { SubmissionFacts } from './wire.ts'
import type { PlanStep, World } from './world.ts'

interface SubmissionPlan {
  readonly submissionId: string
  readonly facts: SubmissionFacts
  readonly steps: readonly PlanStep[]
}

interface PlanOptions {
  readonly brokerageDomain: string
  /** Start of the plan in ms since the epoch. All effective dates are later. */
  readonly startMs: number
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Length of every submission's story. */
export const PLAN_LENGTH_MS = 4 * MINUTE_MS

/** Generates one submission. New random generators with the same seed give the same submission. */
export function planSubmission(prng: Prng, options: PlanOptions): SubmissionPlan {
  const trade = prng.pick(trades)
  const facts = newFacts(prng, trade, options.startMs)
  const who = newCorrespondence(prng, facts, options.brokerageDomain)
  const approached = prng.sample(markets, prng.int(4, 7))
  const steps = [
    ...opening(who, approached),
    ...planMarkets(prng, who, trade, approached, options.startMs),
    ...sideEvents(prng, who, approached),
  ]
  return { submissionId: prng.uuid(), facts, steps: steps.sort((a, b) => a.atMs - b.atMs) }
}

function newFacts(prng: Prng, trade: Trade, startMs: number): SubmissionFacts {
  const owner = prng.chance(0.5) ? prng.pick(owners) : prng.pick(moreOwners)
  return {
    insured_name: `${owner} ${prng.pick(trade.suffixes)} ${prng.pick(endings)}`,
    lines: trade.lines,
    effective_date: new Date(startMs + prng.int(14, 75) * DAY_MS).toISOString().slice(0, 10),
    state: prng.pick(states),
    forms: trade.forms,
    marketing_status: 'not_started',
    marketing_hint: null,
    form_fill_active: false,
    documents_on_file: [{ kind: 'loss_runs', kind_label: 'Loss runs', display_name: 'Loss runs, current carrier.pdf' }],
  }
}

function newCorrespondence(prng: Prng, facts: SubmissionFacts, domain: string): Correspondence {
  const producer = prng.pick(producers)
  const name = producer.split('.')[0] ?? producer
  return {
    insuredName: facts.insured_name,
    producer: { name: name.charAt(0).toUpperCase() + name.slice(1), email: `${producer}@${domain}` },
    rootMessageId: `<${prng.uuid()}@desk.invalid>`,
  }
}

function opening(who: Correspondence, approached: readonly Market[]): PlanStep[] {
  return [
    {
      atMs: 0,
      label: `${who.insuredName}: marketing starts`,
      actions: [
        { do: 'facts', patch: { marketing_status: 'matching', marketing_hint: 'Matching usually takes about five minutes.' } },
        { do: 'message', message: clearance(who, approached) },
      ],
    },
    {
      atMs: 0.4 * MINUTE_MS,
      label: `${who.insuredName}: ${approached.length} markets matched`,
      actions: [
        { do: 'facts', patch: { marketing_status: 'matched', marketing_hint: null } },
        { do: 'rail', patch: { available: true } },
      ],
    },
  ]
}

function planMarkets(prng: Prng, who: Correspondence, trade: Trade, approached: readonly Market[], startMs: number): PlanStep[] {
  const winner = prng.chance(0.5) ? prng.int(0, approached.length - 1) : -1
  return approached.flatMap((market, index) => {
    const lane = newLane(prng, market, trade, startMs)
    return planMarket(prng, { who, trade, market, lane, wins: index === winner, firstMs: 0.45 * MINUTE_MS, lastMs: 0.9 * PLAN_LENGTH_MS })
  })
}

function sideEvents(prng: Prng, who: Correspondence, approached: readonly Market[]): PlanStep[] {
  const at = (from: number, to: number) => Math.round((from + prng.next() * (to - from)) * PLAN_LENGTH_MS)
  const waiting = prng.sample(approached, 2).map((market) => `${market.name}: waiting for an answer`)
  const steps: PlanStep[] = [
    {
      atMs: at(0.4, 0.7),
      label: `${who.insuredName}: market plan update`,
      actions: [{ do: 'message', message: planUpdate(who, waiting) }],
    },
    {
      atMs: at(0.2, 0.3),
      label: `${who.insuredName}: a form is being filled`,
      actions: [{ do: 'facts', patch: { form_fill_active: true } }],
    },
    { atMs: at(0.35, 0.5), label: `${who.insuredName}: the form is done`, actions: [{ do: 'facts', patch: { form_fill_active: false } }] },
  ]
  if (prng.chance(0.5)) {
    const [asked, answered] = chat('Which markets still need something from us?', 'Only the specialty market: it waits for loss runs. 👍')
    const atMs = at(0.3, 0.8)
    steps.push({ atMs, label: `${who.insuredName}: a question in the chat`, actions: [{ do: 'message', message: asked }] })
    steps.push({ atMs: atMs + 4_000, label: `${who.insuredName}: the chat answers`, actions: [{ do: 'message', message: answered }] })
  }
  if (prng.chance(0.3)) {
    const market = prng.pick(approached)
    const item = { history_key: `${market.slug}:${prng.int(1000, 9999)}`, market_name: market.name, program: market.program } as const
    steps.push({
      atMs: at(0.6, 0.95),
      label: `${who.insuredName}: an earlier quote of ${market.name} expired`,
      actions: [{ do: 'expire', item: { ...item, outcome: prng.chance(0.7) ? 'expired' : 'invalid' } }],
    })
  }
  if (prng.chance(0.4)) {
    const message = reply(who, 'Please find the signed application attached.', [attachment(prng, 'Signed application.pdf', true)])
    steps.push({ atMs: at(0.5, 0.9), label: `${who.insuredName}: the broker sends papers`, actions: [{ do: 'message', message }] })
  }
  return steps
}

interface GenerateOptions {
  readonly account: string
  readonly brokerageDomain: string
  readonly submissions: number
  /** Start of the story in ms since the epoch. */
  readonly startMs: number
}

/** Factor for the time between past steps: one minute of the story becomes 20 hours of history. */
const HISTORY_STRETCH = 1_200
const HISTORY_GAP_MS = 3 * 3_600_000
const LAST_START_MS = 60_000

/**
 * Generates the submissions of one account and adds them to `world`. Some are finished, some are in progress, and some
 * are new. Plays past steps without deliveries.
 * @returns the remaining steps in any order.
 */
export function generateAccount(world: World, prng: Prng, options: GenerateOptions): TimedStep[] {
  const live: TimedStep[] = []
  for (let n = 0; n < options.submissions; n++) {
    const own = prng.fork(`submission ${n}`)
    const plan = planSubmission(own, options)
    world.addSubmission(options.account, plan.submissionId, plan.facts, taxIdOf(plan.facts.insured_name))
    // The first submission is new, and the second is in progress. Of the others, on average 3 in 7 are new, 3 in 7 are
    // in progress, and 1 in 7 is finished.
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
