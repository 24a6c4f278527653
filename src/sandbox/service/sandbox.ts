import { fillFeeds } from '../world/bulk.ts'
import { newLane } from '../world/lanes.ts'
import { type Market, markets, trades } from '../world/names.ts'
import { plainFacts } from '../world/plain-facts.ts'
import type { StoryProgress, TimedStep } from '../world/story.ts'
import type { EventInit, LaneInit, LanePatch, MessageInit, RailPatch } from '../world/submission.ts'
import type { MarketEvent, SubmissionFacts, ThreadMessage } from '../world/wire.ts'
import type { Action } from '../world/world.ts'
import { Access } from './access.ts'
import { type Account, addCredential, type Credential } from './accounts.ts'
import type { Counts, RequestSeen } from './activity-log.ts'
import { type ClockKind, StepClock } from './clocks.ts'
import type { Deliveries } from './deliveries.ts'
import type { FaultInjector } from './faults.ts'
import type { Grants } from './grants.ts'
import type { SandboxParts } from './parts.ts'
import type { Schedule } from './schedule.ts'
import { type SubmissionTruth, submissionTruth } from './truth.ts'
import type { Choice } from './unshown.ts'
import { fixedChoices } from './unshown-fixed.ts'
import { optionChoices } from './unshown-options.ts'

export interface SandboxStats extends Counts {
  readonly deliveriesPending: number
  readonly writesSeen: number
  readonly story: StoryProgress
}

export interface Entry {
  /** true: no delivery is sent for it. */
  readonly quiet?: boolean
}

/** Prefix of the API's paths. */
export const BASE_PATH = '/api/v1'

/**
 * A running emulator, and everything that a test can change or inspect in it. Methods throw RangeError for an unknown account, submission
 * or item. Changes are announced by deliveries, unless their comment says otherwise.
 */
export class Sandbox {
  /** `http://host:port`, without a path. */
  readonly origin: string
  /** The base URL for clients, with the version segment. */
  readonly baseUrl: string
  readonly faults: FaultInjector
  /** Keys, users and portal sessions. */
  readonly access: Access
  readonly grants: Grants
  readonly deliveries: Deliveries
  /** What the service will do later. */
  readonly schedule: Schedule
  readonly #parts: SandboxParts

  constructor(parts: SandboxParts) {
    this.#parts = parts
    this.origin = parts.origin
    this.baseUrl = `${parts.origin}${BASE_PATH}`
    this.faults = parts.faults
    this.access = new Access(parts)
    this.grants = parts.grants
    this.deliveries = parts.deliveries
    this.schedule = parts.schedule
  }

  /** Names of the accounts, in the order of the options. */
  get accountNames(): string[] {
    return [...this.#parts.accounts.keys()]
  }

  /** Requests of write operations. A mirror makes none. */
  get writesSeen(): readonly RequestSeen[] {
    return this.#parts.activity.writes
  }

  /** The latest requests (at least 20,000), oldest first. */
  get requestsSeen(): readonly RequestSeen[] {
    return this.#parts.activity.requests
  }

  account(name: string): Account {
    const account = this.#parts.accounts.get(name)
    if (!account) throw new RangeError(`no account ${name}`)
    return account
  }

  /** Changes the webhook endpoint, also for waiting deliveries; null: no endpoint. @param eventTypes its filter; empty: everything. */
  setTarget(account: string, target: string | null, eventTypes?: readonly string[]): void {
    Object.assign(this.account(account), { target, ...(eventTypes && { eventTypes }) })
  }

  setBrokerage(account: string, brokerage: { readonly id: string; readonly name: string }): void {
    this.account(account).brokerage = brokerage
  }

  addCredential(account: string): Credential {
    return addCredential(this.#parts.prng.fork(`account ${account}`), this.account(account))
  }

  /** Refuses new tokens for a credential. Existing ones stay valid until they expire. */
  revokeCredential(account: string, clientId: string): void {
    this.access.revokeKey(this.account(account), clientId)
  }

  /** Expires all tokens of an account. */
  expireTokens(account: string): void {
    this.#parts.tokens.expireAll(this.account(account).name)
  }

  /** Signs with a new secret from now on. @returns the secret. */
  rotateWebhookSecret(account: string): string {
    const target = this.account(account)
    target.webhookSecret = `whsec_${this.#parts.prng.bytes(`secret after ${target.webhookSecret}`).toString('base64')}`
    return target.webhookSecret
  }

  submissionIds(account: string): string[] {
    return [...this.#parts.world.submissions(account).keys()]
  }

  /** Adds an empty submission. @returns its id. */
  addSubmission(account: string, init: { submissionId?: string; facts?: Partial<SubmissionFacts> } = {}): string {
    const facts = { ...plainFacts, ...init.facts }
    return this.#parts.world.addSubmission(account, init.submissionId ?? this.#parts.world.newId(), facts).id
  }

  /** Removes a submission; it is then answered 404. */
  removeSubmission(account: string, submissionId: string): void {
    this.#parts.world.removeSubmission(account, submissionId)
  }

  /**
   * Opens a lane and makes the rail available.
   * @param init `market`: default the first one; `hidden`: not shown until `revealLane`.
   * @returns the lane; its id is `rail.submission_market_id`.
   */
  addLane(account: string, submissionId: string, init: { market?: Market; hidden?: boolean } = {}): LaneInit {
    const [market, trade] = [init.market ?? markets[0], trades[0]]
    if (!market || !trade) throw new RangeError('the world has no markets')
    const lane = newLane(this.#parts.prng, market, trade, this.#parts.clock.now())
    this.#play(account, submissionId, [
      { do: 'lane', lane, hidden: init.hidden ?? false },
      { do: 'rail', patch: { available: true } },
    ])
    return lane
  }

  patchLane(account: string, submissionId: string, laneId: string, patch: LanePatch): void {
    this.#play(account, submissionId, [{ do: 'patch_lane', laneId, patch }])
  }

  /** Shows a hidden lane. Its events appear at the times at which they occurred. */
  revealLane(account: string, submissionId: string, laneId: string): void {
    this.#play(account, submissionId, [{ do: 'reveal', laneId }])
  }

  /** Removes a lane from the requirements view; its events stay visible. No delivery. */
  hideLane(account: string, submissionId: string, laneId: string): void {
    this.#parts.world.submission(account, submissionId).hideLane(laneId)
  }

  setRail(account: string, submissionId: string, patch: RailPatch): void {
    this.#play(account, submissionId, [{ do: 'rail', patch }])
  }

  setFacts(account: string, submissionId: string, patch: Partial<SubmissionFacts>): void {
    this.#play(account, submissionId, [{ do: 'facts', patch }])
  }

  addEvent(account: string, submissionId: string, init: EventInit, entry: Entry = {}): MarketEvent {
    return this.addEvents(account, submissionId, [init], entry)[0] as MarketEvent
  }

  /** Adds several events, which are delivered together. */
  addEvents(account: string, submissionId: string, inits: readonly EventInit[], entry: Entry = {}): MarketEvent[] {
    const actions = inits.map((event): Action => ({ do: 'event', event }))
    return this.#play(account, submissionId, actions, entry).events
  }

  addMessage(account: string, submissionId: string, init: MessageInit, entry: Entry = {}): ThreadMessage {
    return this.#play(account, submissionId, [{ do: 'message', message: init }], entry).messages[0] as ThreadMessage
  }

  /** Changes an event. The spec allows only that null gets a value. No delivery. */
  amendEvent(account: string, submissionId: string, eventId: string, patch: Partial<MarketEvent>): MarketEvent {
    return this.#parts.world.submission(account, submissionId).events.amend(eventId, patch)
  }

  /** Changes a message. No delivery. */
  amendMessage(account: string, submissionId: string, messageId: string, patch: Partial<ThreadMessage>): ThreadMessage {
    return this.#parts.world.submission(account, submissionId).thread.amend(messageId, patch)
  }

  /** Hides events and messages. No delivery. */
  concealItems(account: string, submissionId: string, ids: readonly string[]): void {
    const { events, thread } = this.#parts.world.submission(account, submissionId)
    for (const feed of [events, thread]) feed.conceal(({ id }) => ids.includes(id))
  }

  /** Shows hidden events and messages again. No delivery. */
  showItems(account: string, submissionId: string, ids: readonly string[]): void {
    const { events, thread } = this.#parts.world.submission(account, submissionId)
    for (const feed of [events, thread]) feed.reveal(({ id }) => ids.includes(id))
  }

  /** Fills a submission's feeds for benchmarks. No delivery. @param endMs when the last item happens; now when left out. */
  fillFeeds(account: string, submissionId: string, counts: { events: number; messages: number }, endMs?: number): void {
    const { clock, prng, world } = this.#parts
    fillFeeds(world.submission(account, submissionId), prng, counts, endMs ?? clock.now())
  }

  /**
   * Sends any body, signed, to the account's endpoint.
   * @param options `submissionId`: the submission in whose order it is sent. `id`: the delivery's id, default a new one.
   * @returns the delivery's id.
   */
  deliver(account: string, body: string, options: { submissionId?: string; id?: string } = {}): string {
    return this.#parts.deliveries.send(
      this.account(account),
      options.submissionId ?? '',
      { type: 'by hand', body, itemIds: [] },
      options.id,
    )
  }

  /** Resolves when every delivery is acknowledged or given up. */
  deliveriesSettled(): Promise<void> {
    return this.#parts.deliveries.idle()
  }

  startStory(): void {
    this.#parts.story.start()
  }

  pauseStory(): void {
    this.#parts.story.pause()
  }

  /** Plays the next step of the story now. @returns it, or null at the end. */
  step(): TimedStep | null {
    return this.#parts.story.step()
  }

  /** Resolves after the last step of the story. */
  get storyEnded(): Promise<void> {
    return this.#parts.story.ended
  }

  get nowMs(): number {
    return this.#parts.clock.now()
  }

  get clockKind(): ClockKind {
    return this.#parts.options.clockKind ?? 'real'
  }

  /** Lets time pass on a stepped clock, with all that falls due in it. @throws RangeError on any other clock. */
  async advance(ms: number): Promise<void> {
    const { clock, deliveries } = this.#parts
    if (!(clock instanceof StepClock)) throw new RangeError('the clock runs by itself; start the sandbox with --clock step')
    await clock.advance(ms, () => deliveries.settled())
  }

  /** @returns what the API shows now of one submission, or of all submissions of the account. */
  truth(account: string, submissionId?: string): SubmissionTruth[] {
    const { clock, world } = this.#parts
    const submissions = submissionId === undefined ? [...world.submissions(account).values()] : [world.submission(account, submissionId)]
    return submissions.map((submission) => submissionTruth(submission, clock.now(), this.#parts.unshown))
  }

  /** @returns every choice that the emulator makes where the spec says "not shown". */
  unshown(): Choice[] {
    return [...this.#parts.unshown.list(), ...optionChoices(this.#parts.options), ...fixedChoices()]
  }

  stats(): SandboxStats {
    const { deliveries, activity, story } = this.#parts
    return {
      ...structuredClone(activity.counts),
      deliveriesPending: deliveries.pending,
      writesSeen: activity.writes.length,
      story: story.progress(),
    }
  }

  /** Stops the story, drops pending deliveries and closes all connections. */
  async close(): Promise<void> {
    const { app, deliveries, schedule, story } = this.#parts
    story.pause()
    schedule.close()
    await app.close()
    // Before the pending deliveries are dropped: the next process sends them.
    await this.#parts.stateFile?.close()
    await deliveries.close()
  }

  #play(account: string, submissionId: string, actions: readonly Action[], entry: Entry = {}) {
    return this.#parts.world.play(account, submissionId, actions, this.#parts.clock.now(), entry.quiet)
  }
}
