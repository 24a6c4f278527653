import { programOf } from '../world/catalogue.ts'
import { type Correspondence, clearance, quoteDelivery } from '../world/correspondence.ts'
import { newOffer, newQuote, quotedPatch } from '../world/lanes.ts'
import { labelOf, openLane } from '../world/open-lane.ts'
import { Prng } from '../world/prng.ts'
import { questionOf } from '../world/questions.ts'
import type { Lane, Submission } from '../world/submission.ts'
import type { RailQuote } from '../world/wire.ts'
import type { Action, World } from '../world/world.ts'
import { finishForms } from './forms.ts'
import { matchingPrograms } from './matching.ts'
import type { Due, Schedule } from './schedule.ts'

/** "Matching time: about 5 minutes (300 seconds typical)." */
export const MATCHING_S = 300
/** How long the service takes to fill the forms of a session. */
const FILL_MS = 180_000
/** "Quotes in minutes" of a carrier's interface, and longer ones of portals and underwriters. */
const QUOTE_AFTER_MS = { instant_quote: 60_000, binding: 600_000, specialty: 1_200_000 } as const

/**
 * What the service does with a submission by itself. Each step is an entry of the schedule; what it does follows from the submission as it
 * stands then.
 */
export class Life {
  readonly #world: World
  readonly #schedule: Schedule

  constructor(world: World, schedule: Schedule) {
    this.#world = world
    this.#schedule = schedule
  }

  /** Starts marketing: "not_started" to "matching"; the lanes attach about 300 seconds later. */
  startMatching(account: string, submission: Submission, atMs: number): void {
    const patch = { marketing_status: 'matching', marketing_hint: 'Matching usually takes about five minutes.' } as const
    this.#world.play(account, submission.id, [{ do: 'facts', patch }], atMs)
    this.#schedule.add({ atMs: atMs + MATCHING_S * 1000, account, submissionId: submission.id, kind: 'match', data: {} })
  }

  /** Plays actions later. */
  later(account: string, submissionId: string, atMs: number, actions: readonly Action[]): void {
    const data = JSON.parse(JSON.stringify({ actions })) as Due['data']
    this.#schedule.add({ atMs, account, submissionId, kind: 'play', data })
  }

  /** Carries out what is due. A submission that was removed meanwhile has no further life. */
  carryOut(due: Due): void {
    const submission = this.#world.submissions(due.account).get(due.submissionId)
    if (!submission) return
    if (due.kind === 'play') this.#world.play(due.account, submission.id, due.data['actions'] as unknown as Action[], due.atMs)
    if (due.kind === 'match') this.#match(due, submission)
    if (due.kind === 'quote') this.#quote(due, submission)
    if (due.kind === 'forms') this.#finishForms(due, submission)
  }

  /** Fills the forms of a session later. */
  fillForms(account: string, submission: Submission, forms: readonly string[], atMs: number): void {
    this.#world.play(account, submission.id, [{ do: 'facts', patch: { form_fill_active: true } }], atMs)
    this.#schedule.add({ atMs: atMs + FILL_MS, account, submissionId: submission.id, kind: 'forms', data: { forms: [...forms] } })
  }

  /** The forms are filled: they are documents, a mail brings them, and the last session ends. */
  #finishForms({ account, atMs, data, kind }: Due, submission: Submission): void {
    const { producer, rootMessageId, insuredName } = writerOf(submission)
    const attachments = finishForms(submission, data['forms'] as readonly string[], atMs)
    const isLast = !this.#schedule.pending().some((other) => other.kind === kind && other.submissionId === submission.id)
    const message = {
      id: submission.newId(),
      kind: 'forms_completed',
      subject: `Completed forms: ${insuredName}`,
      body_text: `Hi ${producer.name},\n\nthe forms of ${insuredName} are filled and attached.\n\nYour submissions desk`,
      from: 'submissions@desk.invalid',
      to: [producer.email],
      attachments,
      in_reply_to: rootMessageId,
    }
    const actions: Action[] = [{ do: 'message', message }]
    if (isLast) actions.push({ do: 'facts', patch: { form_fill_active: false } })
    this.#world.play(account, submission.id, actions, atMs)
  }

  /** Lets a lane that lacks nothing any more go on to its quote. A generated submission follows its own story. */
  proceed(account: string, submission: Submission, lane: Lane, atMs: number): void {
    if (submission.records.brief === null || !lane.rail.submit_ready || lane.rail.quotes.length > 0) return
    const data = { lane_id: lane.rail.submission_market_id }
    this.#schedule.add({
      atMs: atMs + QUOTE_AFTER_MS[lane.rail.program_category],
      account,
      submissionId: submission.id,
      kind: 'quote',
      data,
    })
  }

  #match(due: Due, submission: Submission): void {
    const matched = matchingPrograms(submission, this.#world.recordsOf(due.account).linesOff)
    if (matched.length === 0) {
      const patch = { marketing_status: 'no_markets_matched', marketing_hint: 'No market takes these lines in this state.' } as const
      this.#world.play(due.account, submission.id, [{ do: 'facts', patch }], due.atMs)
      return
    }
    const lanes = matched.map(({ program, lines }) => openLane(submission, program, lines, due.atMs))
    const actions: Action[] = [
      { do: 'facts', patch: { marketing_status: 'matched', marketing_hint: null } },
      { do: 'rail', patch: { available: true } },
      {
        do: 'message',
        message: {
          ...clearance(
            writerOf(submission),
            matched.map(({ program }) => program.market),
          ),
          id: submission.newId(),
        },
      },
      ...lanes.map((lane): Action => ({ do: 'lane', lane, hidden: false })),
      ...lanes.map(
        ({ rail }): Action => ({
          do: 'event',
          event: { id: submission.newId(), type: 'market_attached', lane_id: rail.submission_market_id },
        }),
      ),
    ]
    this.#world.play(due.account, submission.id, actions, due.atMs)
    for (const lane of submission.lanes.values()) this.proceed(due.account, submission, lane, due.atMs)
  }

  #quote(due: Due, submission: Submission): void {
    const lane = submission.lanes.get(String(due.data['lane_id']))
    if (!lane?.rail.submit_ready || lane.rail.quotes.length > 0 || lane.rail.chip !== 'in_progress') return
    this.release(due.account, submission, lane, due.atMs, { firm: lane.rail.program_category !== 'specialty' })
  }

  /**
   * Releases a quote on a lane: rail, event and mail. An earlier quote of the lane is superseded, and a draft to bind it expires.
   * @param terms `firm`: whether it can be bound; `totalCents`: default, a premium of the sandbox's own.
   */
  release(
    account: string,
    submission: Submission,
    lane: Lane,
    atMs: number,
    { firm, totalCents }: { firm: boolean; totalCents?: number | undefined },
  ): RailQuote {
    const { rail } = lane
    const market = programOf(rail.program_id)?.market
    const prng = new Prng(`${submission.id} ${rail.submission_market_id} quote ${rail.quotes.length}`)
    const made = newQuote(prng, rail.lines, rail.quotes.at(-1))
    const quote = totalCents === undefined ? made : { ...made, total_cents: totalCents, premium_display: dollars(totalCents) }
    submission.records.quotes[quote.quote_id] = { laneId: rail.submission_market_id, firm, assumptions: assumptionsOf(submission, lane) }
    for (const bind of submission.records.binds)
      if (bind.laneId === rail.submission_market_id && bind.status === 'drafted') bind.status = 'expired'
    const named = market ?? {
      name: rail.market_name,
      slug: 'market',
      program: rail.program,
      category: rail.program_category,
      channel: 'api',
    }
    const offer = { ...newOffer(prng, named), kind: firm ? ('quote' as const) : ('indication' as const) }
    const message = quoteDelivery(writerOf(submission), named, quote.premium_display, [])
    this.#world.play(
      account,
      submission.id,
      [
        { do: 'patch_lane', laneId: rail.submission_market_id, patch: quotedPatch([...rail.quotes, quote], [offer]) },
        { do: 'event', event: { id: submission.newId(), type: 'quote_received', lane_id: rail.submission_market_id } },
        { do: 'message', message: { ...message, id: submission.newId() } },
      ],
      atMs,
    )
    return quote
  }
}

/** @returns what a quote of the lane is based on without anybody having said it. */
function assumptionsOf({ records }: Submission, lane: Lane) {
  const assumed = lane.session ? (programOf(lane.rail.program_id)?.assumes ?? []) : []
  return assumed
    .filter((key) => !Object.hasOwn(records.answers, key))
    .map((key) => ({ key, label: labelOf(key), value: questionOf(key)?.favorable ?? null }))
}

/** The two sides of the mails about a submission. */
export function writerOf({ id, facts, records }: Submission): Correspondence {
  const email = records.brief?.producerEmail ?? 'producer@brokerage.example'
  const name = email.split(/[.@]/)[0] ?? email
  return {
    insuredName: facts.insured_name,
    producer: { name: name.charAt(0).toUpperCase() + name.slice(1), email },
    rootMessageId: `<${id}@desk.invalid>`,
  }
}

function dollars(cents: number): string {
  return `$${(cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
}
