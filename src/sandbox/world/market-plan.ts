import { attachment, bindConfirmation, type Correspondence, question, quoteDelivery, reply } from './correspondence.ts'
import { endedPatch, newOffer, newQuote, quotedPatch, satisfiedPatch } from './lanes.ts'
import { blockReasons, declineReasons, type Market, type Trade } from './names.ts'
import type { Prng } from './prng.ts'
import type { LaneInit } from './submission.ts'
import type { RailQuote } from './wire.ts'
import type { Action, PlanStep } from './world.ts'

interface MarketPlan {
  readonly who: Correspondence
  readonly trade: Trade
  readonly market: Market
  readonly lane: LaneInit
  readonly wins: boolean
  /** Start and end of the market's work, in story time. */
  readonly firstMs: number
  readonly lastMs: number
}

type Outcome = 'quote' | 'revised' | 'declined' | 'withdrawn' | 'blocked'

/**
 * Plans one market's work on a submission, from the first approach to the end. Some plans contain a case that occurs in
 * real feeds:
 * - A hidden lane is shown late, so its earlier events appear before clients' cursors. A later event always follows.
 * - A lane has no event `market_attached`. A later event comes first, such as `quote_received`.
 */
export function planMarket(prng: Prng, plan: MarketPlan): PlanStep[] {
  const outcome = plan.wins ? prng.pick<Outcome>(['quote', 'revised']) : chooseOutcome(prng, plan.market)
  if (outcome === 'blocked' && prng.chance(0.5)) return [blockedBeforeStream(prng, plan)]
  const late = prng.chance(0.25)
  const timeline = spreadMoments(prng, plan, late ? 7 : 6)
  const steps = [attach(prng, plan, timeline.next(), late)]
  steps.push(...underwriting(prng, plan, timeline))
  if (late) steps.push(step(plan, timeline.next(), 'becomes visible', [{ do: 'reveal', laneId: laneIdOf(plan) }]))
  if (outcome === 'quote' || outcome === 'revised') steps.push(...quoting(prng, plan, timeline, outcome === 'revised'))
  else steps.push(end(prng, plan, timeline.next(), outcome))
  return steps
}

function chooseOutcome(prng: Prng, market: Market): Outcome {
  const outcomes: Readonly<Record<Market['category'], readonly Outcome[]>> = {
    instant_quote: ['quote', 'quote', 'revised', 'blocked'],
    binding: ['quote', 'revised', 'declined', 'withdrawn', 'blocked'],
    specialty: ['quote', 'revised', 'declined', 'declined', 'withdrawn'],
  }
  return prng.pick(outcomes[market.category])
}

function spreadMoments(prng: Prng, plan: MarketPlan, count: number): { next(): number } {
  const gap = (plan.lastMs - plan.firstMs) / count
  let used = 0
  return { next: () => Math.round(plan.firstMs + gap * (used++ + prng.next() * 0.9)) }
}

function step(plan: MarketPlan, atMs: number, what: string, actions: readonly Action[]): PlanStep {
  return { atMs, label: `${plan.who.insuredName}: ${plan.market.name} ${what}`, actions }
}

function laneIdOf(plan: MarketPlan): string {
  return plan.lane.rail.submission_market_id
}

function event(prng: Prng, plan: MarketPlan, type: string, more: { status?: string; status_label?: string; detail?: string } = {}): Action {
  return { do: 'event', event: { id: prng.uuid(), type, lane_id: laneIdOf(plan), ...more } }
}

function attach(prng: Prng, plan: MarketPlan, atMs: number, hidden: boolean): PlanStep {
  const lane: Action = { do: 'lane', lane: plan.lane, hidden }
  const unannounced = !hidden && prng.chance(0.1)
  return step(plan, atMs, 'is approached', unannounced ? [lane] : [lane, event(prng, plan, 'market_attached')])
}

/** Plans a market that is blocked before it gets a lane. The event has `lane_id: null`. */
function blockedBeforeStream(prng: Prng, plan: MarketPlan): PlanStep {
  const { rail } = plan.lane
  const market = { name: rail.market_name, lines: rail.lines, lane_id: null, category: rail.program_category }
  const detail = prng.pick(blockReasons)
  return step(plan, plan.firstMs + prng.int(0, 60_000), 'is blocked', [
    { do: 'event', event: { id: prng.uuid(), type: 'blocked', market, detail } },
  ])
}

function underwriting(prng: Prng, plan: MarketPlan, timeline: { next(): number }): PlanStep[] {
  if (plan.market.category === 'instant_quote') return []
  if (plan.market.category === 'binding') {
    const moved = event(prng, plan, 'status_changed', { status: 'in_portal', status_label: 'In carrier portal' })
    const patch = { rail: { status: 'in_portal', status_label: 'In carrier portal' } }
    return [step(plan, timeline.next(), 'is in the portal', [{ do: 'patch_lane', laneId: laneIdOf(plan), patch }, moved])]
  }
  const [asked, answer] = prng.pick(plan.trade.questions)
  const papers = prng.chance(0.5) ? [attachment(prng, 'Loss runs 5 years.pdf', true)] : []
  return [
    step(plan, timeline.next(), 'asks', [{ do: 'message', message: question(plan.who, plan.market, asked) }]),
    step(plan, timeline.next(), 'is answered', [
      { do: 'message', message: reply(plan.who, answer, papers) },
      { do: 'patch_lane', laneId: laneIdOf(plan), patch: satisfiedPatch(plan.lane) },
      event(prng, plan, 'status_changed', { status: 'in_review', status_label: 'In review' }),
    ]),
  ]
}

function quoting(prng: Prng, plan: MarketPlan, timeline: { next(): number }, revised: boolean): PlanStep[] {
  const first = newQuote(prng, plan.lane.rail.lines)
  const steps = deliver(prng, plan, timeline.next(), [first], 'quotes')
  if (revised) steps.push(...deliver(prng, plan, timeline.next(), [first, newQuote(prng, first.lines, first)], 'revises its quote'))
  if (plan.wins) steps.push(bind(prng, plan, timeline.next()))
  return steps
}

function deliver(prng: Prng, plan: MarketPlan, atMs: number, quotes: readonly RailQuote[], what: string): PlanStep[] {
  const premium = quotes.at(-1)?.premium_display ?? ''
  const name = `${plan.market.slug}-quote-${quotes.length}.pdf`
  const messageId = prng.uuid()
  const early = prng.chance(0.2)
  const message = { ...quoteDelivery(plan.who, plan.market, premium, [attachment(prng, name, !early)]), id: messageId }
  const steps = [
    step(plan, atMs, what, [
      { do: 'patch_lane', laneId: laneIdOf(plan), patch: quotedPatch(quotes, prng.chance(0.6) ? [newOffer(prng, plan.market)] : []) },
      event(prng, plan, 'quote_received'),
      { do: 'message', message },
    ]),
  ]
  const attachments = [attachment(prng, name, true)]
  if (early) steps.push(step(plan, atMs + 6_000, 'has its quote finalized', [{ do: 'attach', messageId, attachments }]))
  return steps
}

function bind(prng: Prng, plan: MarketPlan, atMs: number): PlanStep {
  const rail = { status: 'bound', status_label: 'Bound', bound: true, chip: 'bound', next_step: null } as const
  return step(plan, atMs, 'is bound', [
    { do: 'patch_lane', laneId: laneIdOf(plan), patch: { rail } },
    event(prng, plan, 'bound'),
    { do: 'message', message: bindConfirmation(plan.who, plan.market) },
  ])
}

function end(prng: Prng, plan: MarketPlan, atMs: number, outcome: 'declined' | 'withdrawn' | 'blocked'): PlanStep {
  const labels = { declined: 'Declined', withdrawn: 'Withdrawn', blocked: 'Blocked' }
  const details = {
    declined: prng.pick(declineReasons),
    withdrawn: 'Withdrawn at the request of the brokerage.',
    blocked: prng.pick(blockReasons),
  }
  return step(plan, atMs, `ends: ${outcome}`, [
    { do: 'patch_lane', laneId: laneIdOf(plan), patch: endedPatch(outcome, labels[outcome]) },
    event(prng, plan, outcome, { detail: details[outcome] }),
  ])
}
