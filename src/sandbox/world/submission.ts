import { timeFromMs } from '../../model/time.ts'
import { Feed, type FeedState } from './feeds.ts'
import { insuredIdByName, uuidOf } from './ids.ts'
import { emptyRecords, type Records } from './records.ts'
import type {
  CarrierSession,
  EventMarket,
  MarketEvent,
  MarketReadiness,
  ProgramAssessment,
  QuoteHistoryItem,
  RailLane,
  SubmissionFacts,
  ThreadMessage,
} from './wire.ts'

/** What the requirements view shows of one lane. */
export interface LaneInit {
  readonly rail: RailLane
  readonly market: MarketReadiness
  readonly assessment: ProgramAssessment
  readonly session: CarrierSession | null
}

export interface LanePatch {
  readonly rail?: Partial<RailLane>
  readonly market?: Partial<MarketReadiness>
  readonly assessment?: Partial<ProgramAssessment>
  readonly session?: Partial<CarrierSession>
}

export interface RailPatch {
  /** If false, `rail` and `assessment` are null in the requirements view. */
  readonly available?: boolean
  readonly quote_history?: readonly QuoteHistoryItem[]
  readonly quote_history_unavailable?: boolean
}

/** A new event. Defaults: a new id, the current time, the market of its lane, and the usual status of its type. */
export interface EventInit {
  readonly type: string
  readonly id?: string
  /** RFC 3339 time. The text is stored unchanged. */
  readonly occurred_at?: string
  readonly lane_id?: string | null
  readonly market?: EventMarket
  readonly status?: string
  readonly status_label?: string
  readonly detail?: string | null
}

/**
 * A new message. Defaults: a new id, the current time, and an outbound e-mail without
 * subject, addresses, and attachments.
 */
export interface MessageInit extends Partial<ThreadMessage> {
  readonly body_text: string
}

/** A lane. Events that are added while `visible` is false are hidden too. */
export interface Lane extends LaneInit {
  visible: boolean
}

const STATUS_OF_TYPE: Readonly<Record<string, readonly [status: string, label: string]>> = {
  market_attached: ['submitted', 'Submitted'],
  quote_received: ['quoted', 'Quoted'],
  status_changed: ['in_review', 'In review'],
  declined: ['declined', 'Declined'],
  withdrawn: ['withdrawn', 'Withdrawn'],
  blocked: ['blocked', 'Blocked'],
  bound: ['bound', 'Bound'],
}

/** A submission as plain data, for the state file. */
export interface SubmissionState {
  readonly id: string
  readonly facts: SubmissionFacts
  readonly taxId: string | null
  readonly railAvailable: boolean
  readonly quoteHistory: readonly QuoteHistoryItem[]
  readonly quoteHistoryUnavailable: boolean
  readonly lastMicros: number
  readonly lanes: readonly Lane[]
  readonly events: FeedState<MarketEvent>
  readonly thread: FeedState<ThreadMessage>
  readonly records: Records
}

/** A submission: its feeds and the data of its requirements view. */
export class Submission {
  /** Name of the account. */
  readonly account: string
  readonly id: string
  facts: SubmissionFacts
  readonly taxId: string | null
  readonly lanes = new Map<string, Lane>()
  readonly events = new Feed<MarketEvent>()
  readonly thread = new Feed<ThreadMessage>()
  /** Content that requests have written. */
  records: Records = emptyRecords()
  railAvailable = false
  quoteHistory: readonly QuoteHistoryItem[] = []
  quoteHistoryUnavailable = false
  #lastMicros = 0

  /** @param taxId tax id of the insured, shown in facts and answers; null if there is none. */
  constructor(account: string, id: string, facts: SubmissionFacts, taxId: string | null = null) {
    this.account = account
    this.taxId = taxId
    this.id = id
    this.facts = facts
  }

  /** Id of the insured: from the request that created the submission, else derived from the insured's name. */
  get insuredId(): string {
    return this.records.brief?.insuredId ?? insuredIdByName(this.account, this.facts.insured_name)
  }

  /** Lanes that the requirements view shows. */
  get shownLanes(): Lane[] {
    return [...this.lanes.values()].filter(({ visible }) => visible)
  }

  /** @returns a new id. The same sequence of requests gives the same ids. */
  newId(): string {
    return uuidOf(`${this.id} ${this.records.ids++}`)
  }

  addLane(lane: LaneInit, visible: boolean): void {
    this.lanes.set(lane.rail.submission_market_id, { ...lane, visible })
  }

  /** @throws RangeError if the lane is unknown. */
  patchLane(laneId: string, patch: LanePatch): void {
    const lane = this.lane(laneId)
    const session = lane.session && patch.session ? { ...lane.session, ...patch.session } : lane.session
    this.lanes.set(laneId, {
      visible: lane.visible,
      rail: { ...lane.rail, ...patch.rail },
      market: { ...lane.market, ...patch.market },
      assessment: { ...lane.assessment, ...patch.assessment },
      session,
    })
  }

  patchRail(patch: RailPatch): void {
    this.railAvailable = patch.available ?? this.railAvailable
    this.quoteHistory = patch.quote_history ?? this.quoteHistory
    this.quoteHistoryUnavailable = patch.quote_history_unavailable ?? this.quoteHistoryUnavailable
  }

  /** @throws RangeError if the lane is unknown. */
  lane(laneId: string): Lane {
    const lane = this.lanes.get(laneId)
    if (!lane) throw new RangeError(`submission ${this.id} has no lane ${laneId}`)
    return lane
  }

  /** Adds an event. If its lane is hidden, the event is hidden too. */
  addEvent(init: EventInit, newId: () => string, atMs: number): MarketEvent {
    const lane = init.lane_id ? this.lanes.get(init.lane_id) : undefined
    const [status, label] = STATUS_OF_TYPE[init.type] ?? ['updated', 'Updated']
    const event: MarketEvent = {
      id: init.id ?? newId(),
      type: init.type,
      occurred_at: init.occurred_at ?? this.#stamp(atMs),
      market: init.market ?? marketOf(lane?.rail, init.lane_id ?? null),
      status: init.status ?? status,
      status_label: init.status_label ?? label,
      detail: init.detail ?? null,
    }
    this.events.add(event, lane?.visible ?? true)
    return event
  }

  addMessage(init: MessageInit, newId: () => string, atMs: number): ThreadMessage {
    const message: ThreadMessage = {
      channel: 'email',
      direction: 'outbound',
      kind: 'broker_update',
      subject: null,
      from: null,
      to: [],
      attachments: [],
      in_reply_to: null,
      ...init,
      id: init.id ?? newId(),
      occurred_at: init.occurred_at ?? this.#stamp(atMs),
    }
    this.thread.add(message, true)
    return message
  }

  /**
   * Shows a hidden lane and its hidden events.
   * @returns the events that were hidden.
   */
  revealLane(laneId: string): MarketEvent[] {
    this.lane(laneId).visible = true
    return this.events.reveal((event) => event.market.lane_id === laneId)
  }

  /** Hides a lane in the requirements view. Its earlier events stay visible. */
  hideLane(laneId: string): void {
    this.lane(laneId).visible = false
  }

  /** Whether the event belongs to a hidden lane. */
  hides(event: MarketEvent): boolean {
    return event.market.lane_id !== null && this.lanes.get(event.market.lane_id)?.visible === false
  }

  toState(): SubmissionState {
    const { id, facts, taxId, railAvailable, quoteHistory, quoteHistoryUnavailable, lanes, events, thread } = this
    return {
      id,
      facts,
      taxId,
      railAvailable,
      quoteHistory,
      quoteHistoryUnavailable,
      lastMicros: this.#lastMicros,
      lanes: [...lanes.values()],
      events: events.toState(),
      thread: thread.toState(),
      records: this.records,
    }
  }

  static fromState(account: string, state: SubmissionState): Submission {
    const { id, facts, taxId, railAvailable, quoteHistory, quoteHistoryUnavailable, lastMicros, lanes, events, thread } = state
    const submission = Object.assign(new Submission(account, id, facts, taxId), { railAvailable, quoteHistory, quoteHistoryUnavailable })
    submission.#lastMicros = lastMicros
    submission.records = state.records
    for (const lane of lanes) submission.addLane(lane, lane.visible)
    submission.events.fromState(events)
    submission.thread.fromState(thread)
    return submission
  }

  /**
   * @returns the time `atMs` as text; at least 1 µs later than the previous result. With an earlier or equal time, a
   * new item could come before a client's cursor and never be read.
   */
  #stamp(atMs: number): string {
    this.#lastMicros = Math.max(Math.floor(atMs * 1000), this.#lastMicros + 1)
    const text = timeFromMs(Math.floor(this.#lastMicros / 1000))
    return `${text.slice(0, 23)}${String(this.#lastMicros % 1000).padStart(3, '0')}Z`
  }
}

function marketOf(lane: RailLane | undefined, laneId: string | null): EventMarket {
  if (!lane) return { name: 'Alder Point Specialty', lines: ['general_liability'], lane_id: laneId, category: 'specialty' }
  return { name: lane.market_name, lines: lane.lines, lane_id: lane.submission_market_id, category: lane.program_category }
}
