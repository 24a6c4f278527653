import { fillFeeds } from '../world/bulk.ts'
import { newLane } from '../world/lanes.ts'
import { type Market, markets, trades } from '../world/names.ts'
import type { Story, StoryProgress } from '../world/story.ts'
import type { EventInit, LaneInit, LanePatch, MessageInit, RailPatch } from '../world/submission.ts'
import type { MarketEvent, SubmissionFacts, ThreadMessage } from '../world/wire.ts'
import type { Action, World } from '../world/world.ts'
import { Access } from './access.ts'
import type { Account } from './accounts.ts'
import type { ActivityLog, Counts } from './activity-log.ts'
import { type ClockKind, StepClock } from './clocks.ts'
import type { Deliveries } from './deliveries.ts'
import type { FaultInjector } from './faults.ts'
import type { Grants } from './grants.ts'
import type { SandboxParts } from './parts.ts'
import type { Schedule } from './schedule.ts'
import type { Tokens } from './tokens.ts'
import { type SubmissionTruth, submissionTruth } from './truth.ts'
import type { Choice } from './unshown.ts'
import { fixedChoices, optionChoices } from './unshown-others.ts'

interface SandboxStats extends Counts {
  readonly deliveriesPending: number
  readonly writesSeen: number
  readonly story: StoryProgress
}

interface Entry {
  /** If true, no delivery is sent. */
  readonly quiet?: boolean
}

const plainFacts: SubmissionFacts = {
  insured_name: 'Plain Oak Holdings LLC',
  lines: ['general_liability'],
  effective_date: '2027-01-01',
  state: 'TX',
  forms: ['acord_125'],
  marketing_status: 'not_started',
  marketing_hint: null,
  form_fill_active: false,
  documents_on_file: [],
}

/** Path of the API's base URL. */
export const BASE_PATH = '/api/v1'

/**
 * A running emulator, with everything that tests can change or inspect. New events and messages are delivered, unless a
 * comment says otherwise. Methods throw RangeError if an account, submission, or item is unknown.
 */
export class Sandbox {
  /** Such as `http://127.0.0.1:8090`. */
  readonly origin: string
  /** URL of the API with its version, such as `http://127.0.0.1:8090/api/v1`. */
  readonly baseUrl: string
  readonly faults: FaultInjector
  readonly access: Access
  readonly grants: Grants
  readonly deliveries: Deliveries
  readonly schedule: Schedule
  readonly story: Story
  readonly tokens: Tokens
  readonly world: World
  /** Requests so far, and totals. */
  readonly activity: ActivityLog
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
    this.story = parts.story
    this.tokens = parts.tokens
    this.world = parts.world
    this.activity = parts.activity
  }

  /** Names in the order of the options. */
  get accountNames(): string[] {
    return [...this.#parts.accounts.keys()]
  }

  /** @param name the account's name. Default: the name of the first account. */
  account(name = this.accountNames[0] ?? ''): Account {
    const account = this.#parts.accounts.get(name)
    if (!account) throw new RangeError(`no account ${name}`)
    return account
  }

  /**
   * From now on, signs deliveries with a new secret.
   * @returns the secret.
   */
  rotateWebhookSecret(account: string): string {
    const target = this.account(account)
    target.webhookSecret = `whsec_${this.#parts.prng.bytes(`secret after ${target.webhookSecret}`).toString('base64')}`
    return target.webhookSecret
  }

  submissionIds(account: string): string[] {
    return [...this.world.submissions(account).keys()]
  }

  /**
   * Adds a submission without lanes, events, and messages.
   * @returns the submission's id.
   */
  addSubmission(account: string, init: { submissionId?: string; facts?: Partial<SubmissionFacts> } = {}): string {
    const facts = { ...plainFacts, ...init.facts }
    return this.world.addSubmission(account, init.submissionId ?? this.world.newId(), facts).id
  }

  /**
   * Opens a lane and makes the rail available.
   * @param init `market`: default is the first market. `hidden`: hides the lane until `revealLane` is called.
   * @returns the lane. Its id is `rail.submission_market_id`.
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

  /**
   * Shows a hidden lane and its events so far. These events are delivered only with the variant `announce_late=yes`.
   */
  revealLane(account: string, submissionId: string, laneId: string): void {
    this.#play(account, submissionId, [{ do: 'reveal', laneId }])
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

  /** Adds events. One delivery contains all of these events. */
  addEvents(account: string, submissionId: string, inits: readonly EventInit[], entry: Entry = {}): MarketEvent[] {
    const actions = inits.map((event): Action => ({ do: 'event', event }))
    return this.#play(account, submissionId, actions, entry).events
  }

  addMessage(account: string, submissionId: string, init: MessageInit, entry: Entry = {}): ThreadMessage {
    return this.#play(account, submissionId, [{ do: 'message', message: init }], entry).messages[0] as ThreadMessage
  }

  /** Hides events and messages. Sends no delivery. */
  concealItems(account: string, submissionId: string, ids: readonly string[]): void {
    const { events, thread } = this.world.submission(account, submissionId)
    for (const feed of [events, thread]) feed.conceal(({ id }) => ids.includes(id))
  }

  /** Shows hidden events and messages. Sends no delivery. */
  showItems(account: string, submissionId: string, ids: readonly string[]): void {
    const { events, thread } = this.world.submission(account, submissionId)
    for (const feed of [events, thread]) feed.reveal(({ id }) => ids.includes(id))
  }

  /**
   * Fills a submission's feeds for benchmarks. Sends no deliveries.
   * @param endMs time in ms since the epoch. The last item of each feed is one second earlier. Default: now.
   */
  fillFeeds(account: string, submissionId: string, counts: { events: number; messages: number }, endMs?: number): void {
    const { clock, prng } = this.#parts
    fillFeeds(this.world.submission(account, submissionId), prng, counts, endMs ?? clock.now())
  }

  /**
   * Signs any body and sends it to the account's endpoint.
   * @param options `submissionId`: deliveries of this submission stay in order. `id`: default is a new id.
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

  get nowMs(): number {
    return this.#parts.clock.now()
  }

  get clockKind(): ClockKind {
    return this.#parts.options.clockKind ?? 'real'
  }

  /**
   * Advances a step clock.
   * @throws RangeError if the sandbox has another kind of clock.
   */
  async advance(ms: number): Promise<void> {
    const { clock, deliveries } = this.#parts
    if (!(clock instanceof StepClock)) throw new RangeError('the clock runs automatically; start the sandbox with --clock step')
    await clock.advance(ms, () => deliveries.settled())
  }

  /** @returns what the API shows now, for one submission or for all. */
  truth(account: string, submissionId?: string): SubmissionTruth[] {
    const { clock, unshown } = this.#parts
    const submissions =
      submissionId === undefined ? [...this.world.submissions(account).values()] : [this.world.submission(account, submissionId)]
    return submissions.map((submission) => submissionTruth(submission, clock.now(), unshown))
  }

  /** @returns every choice that the specification leaves open. */
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

  /**
   * Stops the story and deliveries, and closes all connections. Pending deliveries are lost if there is no state file.
   */
  async close(): Promise<void> {
    const { app, deliveries, schedule, story } = this.#parts
    story.pause()
    schedule.close()
    await app.close()
    // The state file contains the pending deliveries. The next process sends them.
    await this.#parts.stateFile?.close()
    await deliveries.close()
  }

  #play(account: string, submissionId: string, actions: readonly Action[], entry: Entry = {}) {
    return this.world.play(account, submissionId, actions, this.#parts.clock.now(), entry.quiet)
  }
}
