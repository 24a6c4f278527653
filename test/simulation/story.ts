import { PLAN_LENGTH_MS, planSubmission } from '../../src/sandbox/world/plan.ts'
import type { Prng } from '../../src/sandbox/world/prng.ts'
import type { Action, World } from '../../src/sandbox/world/world.ts'
import { world as outside, type Scheduler, START_MS } from './scheduler.ts'
import { ACCOUNT } from './service.ts'

/** Markets of a submission; the generator's number would only take time. */
const MARKETS = 2
const MESSAGE_SHARE = 0.6

/** Plays stories of submissions into the world, within `lengthMs`. */
export class Story {
  readonly submissionIds: string[] = []
  readonly #world: World
  readonly #scheduler: Scheduler
  readonly #prng: Prng
  readonly #versions = new Map<string, number>()

  constructor(theWorld: World, scheduler: Scheduler, prng: Prng) {
    this.#world = theWorld
    this.#scheduler = scheduler
    this.#prng = prng
  }

  begin(submissions: number, lengthMs: number): void {
    for (let n = 0; n < submissions; n++) this.#plan(n, lengthMs)
  }

  #plan(n: number, lengthMs: number): void {
    const prng = this.#prng.fork(`submission ${n}`)
    const { submissionId, facts, steps } = planSubmission(prng, { brokerageDomain: 'brokerage.invalid', startMs: START_MS })
    this.submissionIds.push(submissionId)
    const firstMs = prng.next() * lengthMs * 0.3
    this.#at(firstMs, () => this.#world.addSubmission(ACCOUNT, submissionId, facts))
    const lanes = new Set<string>()
    for (const { actions } of steps)
      for (const action of actions) if (action.do === 'lane' && lanes.size < MARKETS) lanes.add(action.lane.rail.submission_market_id)
    const messages = new Set<string>()
    const scale = (lengthMs - firstMs) / PLAN_LENGTH_MS
    // Strictly one after another, since events of the same time have no order.
    let afterMs = firstMs
    for (const { atMs, actions } of steps) {
      const kept = actions.filter((action) => this.#keeps(action, lanes, messages))
      afterMs = Math.max(afterMs + 1, firstMs + atMs * scale)
      if (kept.length > 0) this.#at(afterMs, () => this.#play(submissionId, kept))
    }
    if (lanes.size > 0 && prng.chance(0.3)) this.#vanish(prng, submissionId, prng.pick([...lanes]), firstMs, lengthMs)
  }

  #vanish(prng: Prng, submissionId: string, laneId: string, firstMs: number, lengthMs: number): void {
    const from = firstMs + (lengthMs - firstMs) * (0.5 + prng.next() * 0.3)
    this.#at(from, () => {
      this.#world.submission(ACCOUNT, submissionId).hideLane(laneId)
      this.#play(submissionId, [])
    })
    if (prng.chance(0.5)) this.#at(from + prng.next() * (lengthMs - from), () => this.#play(submissionId, [{ do: 'reveal', laneId }]))
  }

  #at(ms: number, action: () => void): void {
    this.#scheduler.after(ms, 'story', action, outside)
  }

  /** Each step changes a version in the view, so that the change log reveals an older view overwriting a newer one. */
  #play(submissionId: string, actions: readonly Action[]): void {
    const version = (this.#versions.get(submissionId) ?? 0) + 1
    this.#versions.set(submissionId, version)
    const facts: Action = { do: 'facts', patch: { marketing_hint: versionText(version) } }
    const plain = actions.map((action): Action => {
      if (action.do !== 'facts') return action
      const { marketing_hint: _, ...patch } = action.patch
      return { do: 'facts', patch }
    })
    this.#world.play(ACCOUNT, submissionId, [...plain, facts], this.#scheduler.trueMs)
  }

  #keeps(action: Action, lanes: ReadonlySet<string>, messages: Set<string>): boolean {
    switch (action.do) {
      case 'lane':
        return lanes.has(action.lane.rail.submission_market_id)
      case 'patch_lane':
      case 'reveal':
        return lanes.has(action.laneId)
      case 'event':
        return action.event.lane_id === undefined || action.event.lane_id === null || lanes.has(action.event.lane_id)
      case 'message':
        if (!this.#prng.chance(MESSAGE_SHARE)) return false
        if (action.message.id !== undefined) messages.add(action.message.id)
        return true
      case 'attach':
        return messages.has(action.messageId)
      default:
        return true
    }
  }
}

export function versionText(version: number): string {
  return `version ${String(version).padStart(4, '0')}`
}
