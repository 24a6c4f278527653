import { timeFromMs } from '../../model/time.ts'
import type { Prng } from './prng.ts'
import { type AccountRecords, emptyAccountRecords } from './records.ts'
import {
  type EventInit,
  type LaneInit,
  type LanePatch,
  type MessageInit,
  type RailPatch,
  Submission,
  type SubmissionState,
} from './submission.ts'
import type { Attachment, MarketEvent, QuoteHistoryItem, SubmissionFacts, ThreadMessage } from './wire.ts'

/** A change of a submission, as plain data. */
export type Action =
  | { readonly do: 'lane'; readonly lane: LaneInit; readonly hidden: boolean }
  | { readonly do: 'patch_lane'; readonly laneId: string; readonly patch: LanePatch }
  | { readonly do: 'reveal'; readonly laneId: string }
  | { readonly do: 'facts'; readonly patch: Partial<SubmissionFacts> }
  | { readonly do: 'rail'; readonly patch: RailPatch }
  | { readonly do: 'expire'; readonly item: Omit<QuoteHistoryItem, 'observed_at'> }
  | { readonly do: 'event'; readonly event: EventInit }
  | { readonly do: 'message'; readonly message: MessageInit }
  | { readonly do: 'attach'; readonly messageId: string; readonly attachments: readonly Attachment[] }

/** Changes of a submission at one time of its story. */
export interface PlanStep {
  /** Story time in ms. */
  readonly atMs: number
  /** Text for logs. */
  readonly label: string
  readonly actions: readonly Action[]
}

/** Items that became visible in a submission's feeds and must be delivered. */
export type News = { readonly account: string; readonly submissionId: string } & (
  | { readonly kind: 'events'; readonly events: readonly MarketEvent[] }
  | { readonly kind: 'message'; readonly message: ThreadMessage }
)

interface Added {
  readonly events: MarketEvent[]
  readonly messages: ThreadMessage[]
}

interface WorldOptions {
  readonly prng: Prng
  readonly announce: (news: News) => void
  /** Whether a hidden lane's earlier events are delivered when the lane is shown. */
  readonly announceLate: boolean
}

type WorldState = readonly {
  readonly account: string
  readonly submissions: readonly SubmissionState[]
  readonly records: AccountRecords
}[]

/** All submissions of all accounts. Different accounts may use the same ids. */
export class World {
  readonly #options: WorldOptions
  readonly #accounts = new Map<string, Map<string, Submission>>()
  /** Content that requests have written outside submissions, by account. */
  readonly records = new Map<string, AccountRecords>()

  constructor(options: WorldOptions) {
    this.#options = options
  }

  readonly newId = (): string => this.#options.prng.uuid()

  addAccount(account: string): void {
    this.#accounts.set(account, new Map())
    this.records.set(account, emptyAccountRecords())
  }

  /** @throws RangeError if the account is unknown. */
  submissions(account: string): ReadonlyMap<string, Submission> {
    const submissions = this.#accounts.get(account)
    if (!submissions) throw new RangeError(`no account ${account}`)
    return submissions
  }

  /** @throws RangeError if the account is unknown. */
  recordsOf(account: string): AccountRecords {
    const records = this.records.get(account)
    if (!records) throw new RangeError(`no account ${account}`)
    return records
  }

  /** @throws RangeError if the account or submission is unknown. */
  submission(account: string, submissionId: string): Submission {
    const submission = this.submissions(account).get(submissionId)
    if (!submission) throw new RangeError(`account ${account} has no submission ${submissionId}`)
    return submission
  }

  /** @throws RangeError if the account is unknown or the id exists. */
  addSubmission(account: string, submissionId: string, facts: SubmissionFacts, taxId: string | null = null): Submission {
    if (this.submissions(account).has(submissionId)) throw new RangeError(`account ${account} has a submission ${submissionId} already`)
    const submission = new Submission(account, submissionId, facts, taxId)
    this.#accounts.get(account)?.set(submissionId, submission)
    return submission
  }

  /** Removes a submission. Later requests for this submission get 404. */
  removeSubmission(account: string, submissionId: string): void {
    this.submission(account, submissionId)
    this.#accounts.get(account)?.delete(submissionId)
  }

  /**
   * Applies actions in order. Delivers new visible items: all events together, each message separately. If a hidden
   * lane is shown, its earlier events are delivered only with `announceLate`.
   * @param atMs time of the actions in ms since the epoch.
   * @param quiet if true, sends no deliveries.
   * @returns the new events and messages, including hidden ones.
   */
  play(account: string, submissionId: string, actions: readonly Action[], atMs: number, quiet = false): Added {
    const submission = this.submission(account, submissionId)
    const added: Added = { events: [], messages: [] }
    const late: MarketEvent[] = []
    for (const action of actions) this.#act(submission, action, atMs, added, late)
    if (quiet) return added
    const events = [...(this.#options.announceLate ? late : []), ...added.events.filter((event) => !submission.hides(event))]
    if (events.length > 0) this.#options.announce({ account, submissionId, kind: 'events', events })
    for (const message of added.messages) this.#options.announce({ account, submissionId, kind: 'message', message })
    return added
  }

  toState(): WorldState {
    return [...this.#accounts].map(([account, submissions]) => ({
      account,
      submissions: [...submissions.values()].map((one) => one.toState()),
      records: this.recordsOf(account),
    }))
  }

  fromState(state: WorldState): void {
    for (const { account, submissions, records } of state) {
      this.addAccount(account)
      this.records.set(account, records)
      for (const saved of submissions) this.#accounts.get(account)?.set(saved.id, Submission.fromState(account, saved))
    }
  }

  #act(submission: Submission, action: Action, atMs: number, added: Added, late: MarketEvent[]): void {
    switch (action.do) {
      case 'lane':
        submission.addLane(action.lane, !action.hidden)
        break
      case 'patch_lane':
        submission.patchLane(action.laneId, action.patch)
        break
      case 'reveal':
        late.push(...submission.revealLane(action.laneId))
        break
      case 'facts':
        submission.facts = { ...submission.facts, ...action.patch }
        break
      case 'rail':
        submission.patchRail(action.patch)
        break
      case 'expire':
        submission.quoteHistory = [...submission.quoteHistory, { ...action.item, observed_at: timeFromMs(atMs) }]
        break
      case 'event':
        added.events.push(submission.addEvent(action.event, this.newId, atMs))
        break
      case 'message':
        added.messages.push(submission.addMessage(action.message, this.newId, atMs))
        break
      case 'attach':
        submission.thread.amend(action.messageId, { attachments: action.attachments })
        break
    }
  }
}
