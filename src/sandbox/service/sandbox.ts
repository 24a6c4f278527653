import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { fillFeeds } from '../world/bulk.ts'
import { newLane } from '../world/lanes.ts'
import { type Market, markets, trades } from '../world/names.ts'
import { plainFacts } from '../world/plain-facts.ts'
import type { Prng } from '../world/prng.ts'
import type { Story, StoryProgress, TimedStep } from '../world/story.ts'
import type { EventInit, LaneInit, LanePatch, MessageInit, RailPatch } from '../world/submission.ts'
import type { MarketEvent, RequirementsView, SubmissionFacts, ThreadMessage } from '../world/wire.ts'
import type { Action, World } from '../world/world.ts'
import { type Account, addCredential, type Credential } from './accounts.ts'
import type { Deliveries } from './deliveries.ts'
import type { FaultBook } from './faults.ts'
import type { Counts, Logbook, RequestSeen } from './logbook.ts'
import { requirementsView } from './requirements.ts'
import type { Tokens } from './tokens.ts'

/** Everything of one submission that can be seen now, as the API would give it. */
export interface SubmissionTruth {
  readonly submission_id: string
  /** Both lists oldest first. */
  readonly events: readonly MarketEvent[]
  readonly messages: readonly ThreadMessage[]
  /** `generated_at` in it is the time of asking. */
  readonly requirements: RequirementsView
}

export interface SandboxStats extends Counts {
  readonly deliveriesPending: number
  readonly writesSeen: number
  readonly story: StoryProgress
}

/** How an item enters a feed by hand. */
export interface Entry {
  /** true: no delivery tells of it, as of history from before the endpoint. */
  readonly quiet?: boolean
}

export interface SandboxParts {
  readonly app: FastifyInstance
  readonly origin: string
  readonly clock: Clock
  readonly prng: Prng
  readonly accounts: ReadonlyMap<string, Account>
  readonly world: World
  readonly story: Story
  readonly tokens: Tokens
  readonly faults: FaultBook
  readonly deliveries: Deliveries
  readonly logbook: Logbook
}

/** The API's paths lie below this. */
export const BASE_PATH = '/api/v1'

/**
 * A running emulator, and every hand that a test can lay on it. Methods that take an account or a submission throw
 * RangeError when there is none of that name or id.
 */
export class Sandbox {
  /** `http://host:port`, without a path. */
  readonly origin: string
  /** What a client is configured with: includes the version segment. */
  readonly baseUrl: string
  readonly faults: FaultBook
  readonly #parts: SandboxParts

  constructor(parts: SandboxParts) {
    this.#parts = parts
    this.origin = parts.origin
    this.baseUrl = `${parts.origin}${BASE_PATH}`
    this.faults = parts.faults
  }

  /** Names of the accounts, in the order in which they were given. */
  get accountNames(): string[] {
    return [...this.#parts.accounts.keys()]
  }

  /** Every request of a write operation; a mirror makes none. */
  get writesSeen(): readonly RequestSeen[] {
    return this.#parts.logbook.writes
  }

  /** The requests of late (20,000 at least), oldest first. */
  get requestsSeen(): readonly RequestSeen[] {
    return this.#parts.logbook.requests
  }

  account(name: string): Account {
    const account = this.#parts.accounts.get(name)
    if (!account) throw new RangeError(`no account ${name}`)
    return account
  }

  /** From now on deliveries of the account go to `target`, those too that still wait; null: there is no endpoint. */
  setTarget(account: string, target: string | null): void {
    this.account(account).target = target
  }

  setBrokerage(account: string, brokerage: { readonly id: string; readonly name: string }): void {
    this.account(account).brokerage = brokerage
  }

  addCredential(account: string): Credential {
    return addCredential(this.#parts.prng.fork(`account ${account}`), this.account(account))
  }

  /** No new tokens for this credential; those that live go on until they die. */
  revokeCredential(account: string, clientId: string): void {
    const credential = this.account(account).credentials.find((other) => other.clientId === clientId)
    if (!credential) throw new RangeError(`account ${account} has no credential ${clientId}`)
    credential.active = false
  }

  /** Ends every live token of the account. */
  killTokens(account: string): void {
    this.#parts.tokens.killAll(this.account(account).name)
  }

  /** Signs with a new secret from now on. @returns it. */
  rotateWebhookSecret(account: string): string {
    const target = this.account(account)
    target.webhookSecret = `whsec_${this.#parts.prng.bytes(`secret after ${target.webhookSecret}`).toString('base64')}`
    return target.webhookSecret
  }

  submissionIds(account: string): string[] {
    return [...this.#parts.world.submissions(account).keys()]
  }

  /** @returns the id of a new, empty submission. */
  addSubmission(account: string, init: { submissionId?: string; facts?: Partial<SubmissionFacts> } = {}): string {
    const facts = { ...plainFacts, ...init.facts }
    return this.#parts.world.addSubmission(account, init.submissionId ?? this.#parts.world.newId(), facts).id
  }

  /** From here on the submission is answered as not found. */
  removeSubmission(account: string, submissionId: string): void {
    this.#parts.world.removeSubmission(account, submissionId)
  }

  /**
   * Opens a lane and shows the rail.
   * @param init the market (the first of the sandbox's list when left out); `hidden`: not engaged yet.
   * @returns the lane as it was made; its id is `rail.submission_market_id`.
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

  /** Shows a hidden lane; its events up to now appear in their old places. */
  revealLane(account: string, submissionId: string, laneId: string): void {
    this.#play(account, submissionId, [{ do: 'reveal', laneId }])
  }

  /** Takes a lane out of the requirements view; its events stay. */
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

  /** Adds several events that one delivery tells of. */
  addEvents(account: string, submissionId: string, inits: readonly EventInit[], entry: Entry = {}): MarketEvent[] {
    const actions = inits.map((event): Action => ({ do: 'event', event }))
    return this.#play(account, submissionId, actions, entry).events
  }

  addMessage(account: string, submissionId: string, init: MessageInit, entry: Entry = {}): ThreadMessage {
    return this.#play(account, submissionId, [{ do: 'message', message: init }], entry).messages[0] as ThreadMessage
  }

  /** Changes an event in its place, quietly: what the service says never happens, and a null that is filled. */
  amendEvent(account: string, submissionId: string, eventId: string, patch: Partial<MarketEvent>): MarketEvent {
    return this.#parts.world.submission(account, submissionId).events.amend(eventId, patch)
  }

  /** Changes a message in its place, quietly. */
  amendMessage(account: string, submissionId: string, messageId: string, patch: Partial<ThreadMessage>): ThreadMessage {
    return this.#parts.world.submission(account, submissionId).thread.amend(messageId, patch)
  }

  /** No longer shows items of the feeds that were visible, by their ids; quietly. */
  concealItems(account: string, submissionId: string, ids: readonly string[]): void {
    const { events, thread } = this.#parts.world.submission(account, submissionId)
    for (const feed of [events, thread]) feed.conceal(({ id }) => ids.includes(id))
  }

  /** Shows concealed items again, in their old places; quietly. */
  showItems(account: string, submissionId: string, ids: readonly string[]): void {
    const { events, thread } = this.#parts.world.submission(account, submissionId)
    for (const feed of [events, thread]) feed.reveal(({ id }) => ids.includes(id))
  }

  /** Fills a submission's feeds with that many items of plain history, for measuring. */
  fillFeeds(account: string, submissionId: string, counts: { events: number; messages: number }): void {
    const { clock, prng, world } = this.#parts
    fillFeeds(world.submission(account, submissionId), prng, counts, clock.now())
  }

  /**
   * Sends any body, signed, to the account's endpoint.
   * @param options `submissionId` is the lane whose order it keeps; `id` the delivery's id, a new one when left out.
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

  /** Plays the next step of the story now. @returns it, or null when the story is over. */
  step(): TimedStep | null {
    return this.#parts.story.step()
  }

  /** Resolves when the last step of the story was played. */
  get storyEnded(): Promise<void> {
    return this.#parts.story.ended
  }

  /** @returns what the account could see now of each submission, or of the one that is named. */
  truth(account: string, submissionId?: string): SubmissionTruth[] {
    const { clock, world } = this.#parts
    const chosen = submissionId === undefined ? world.submissions(account).values() : [world.submission(account, submissionId)]
    const nowMs = clock.now()
    return Array.from(chosen, (submission) => ({
      submission_id: submission.id,
      events: submission.events.visible(),
      messages: submission.thread.visible(),
      requirements: requirementsView(submission, nowMs),
    }))
  }

  stats(): SandboxStats {
    const { deliveries, logbook, story } = this.#parts
    return {
      ...structuredClone(logbook.counts),
      deliveriesPending: deliveries.pending,
      writesSeen: logbook.writes.length,
      story: story.progress(),
    }
  }

  /** Stops the story, drops what is still to be delivered, closes every connection. */
  async close(): Promise<void> {
    const { app, deliveries, story } = this.#parts
    story.pause()
    await Promise.all([deliveries.close(), app.close()])
  }

  #play(account: string, submissionId: string, actions: readonly Action[], entry: Entry = {}) {
    return this.#parts.world.play(account, submissionId, actions, this.#parts.clock.now(), entry.quiet)
  }
}
