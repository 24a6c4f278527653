import { matchingPrograms, programOf } from '../world/catalogue.ts'
import { type Correspondence, clearance, quoteDelivery } from '../world/correspondence.ts'
import { newOffer, newQuote, openLane, quotedPatch } from '../world/lanes.ts'
import { Prng } from '../world/prng.ts'
import { labelOf, questionOf } from '../world/questions.ts'
import type { Lane, Submission } from '../world/submission.ts'
import type { RailQuote } from '../world/wire.ts'
import type { Action, World } from '../world/world.ts'
import { finishForms } from './forms.ts'
import type { Due, Schedule } from './schedule.ts'
import type { Unshown } from './unshown.ts'

/** Duration of matching in seconds. */
export const MATCHING_S = 300
const FILL_MS = 180_000
/** Time in ms until a quote: short for carrier APIs, longer for portals and underwriters. */
const QUOTE_AFTER_MS = { instant_quote: 60_000, binding: 600_000, specialty: 1_200_000 } as const

/** Plans and carries out the automatic steps of submissions, as entries of the schedule. */
export class Life {
  readonly #world: World
  readonly #schedule: Schedule

  constructor(world: World, schedule: Schedule) {
    this.#world = world
    this.#schedule = schedule
  }

  /** Starts marketing: changes `marketing_status` from `not_started` to `matching`. The lanes appear 300 s later. */
  startMatching(submission: Submission, atMs: number): void {
    const patch = { marketing_status: 'matching', marketing_hint: 'Matching usually takes about five minutes.' } as const
    this.#world.play(submission.account, submission.id, [{ do: 'facts', patch }], atMs)
    this.#plan(submission, atMs + MATCHING_S * 1000, 'match', {})
  }

  later(submission: Submission, atMs: number, actions: readonly Action[]): void {
    this.#plan(submission, atMs, 'play', JSON.parse(JSON.stringify({ actions })) as Due['data'])
  }

  /** Carries out a due entry, unless its submission was removed. */
  carryOut(due: Due): void {
    const submission = this.#world.submissions(due.account).get(due.submissionId)
    if (!submission) return
    if (due.kind === 'play') this.#world.play(due.account, submission.id, due.data['actions'] as unknown as Action[], due.atMs)
    if (due.kind === 'match') this.#match(due, submission)
    if (due.kind === 'quote') this.#quote(due, submission)
    if (due.kind === 'forms') this.#finishForms(due, submission)
  }

  /**
   * Starts a form-fill session for the forms in `formKeys` (default: all forms). The first form, which is the
   * application, is always included. Three minutes later, the completed forms become finalized documents.
   */
  startFormFill(submission: Submission, formKeys: readonly string[] | undefined, unshown: Unshown, atMs: number) {
    const forms = submission.facts.forms.filter((key, index) => index === 0 || (formKeys?.includes(key) ?? true))
    const sessionId = submission.newId()
    this.#world.play(submission.account, submission.id, [{ do: 'facts', patch: { form_fill_active: true } }], atMs)
    this.#plan(submission, atMs + FILL_MS, 'forms', { forms })
    return {
      session_id: sessionId,
      workflow_version: 'structured_v1',
      token: `fill_${sessionId.replaceAll('-', '')}`,
      auth_mode: 'token',
      forms_assigned: unshown.word('forms_assigned') === 'count' ? forms.length : forms,
      status: 'in_progress',
      carrier_schemas: submission.shownLanes.flatMap(({ session }) =>
        session ? [{ carrier_slug: session.carrier_slug, program: session.program }] : [],
      ),
    }
  }

  #finishForms({ atMs, data, kind }: Due, submission: Submission): void {
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
    this.#world.play(submission.account, submission.id, actions, atMs)
  }

  /**
   * Schedules the quote of a lane that needs nothing more from the broker and has no quote. Does nothing for generated
   * submissions, because their story contains the quotes.
   */
  proceed(submission: Submission, lane: Lane, atMs: number): void {
    if (submission.records.brief === null || !lane.rail.submit_ready || lane.rail.quotes.length > 0) return
    const { program_category, submission_market_id: lane_id } = lane.rail
    this.#plan(submission, atMs + QUOTE_AFTER_MS[program_category], 'quote', { lane_id })
  }

  #plan({ account, id: submissionId }: Submission, atMs: number, kind: string, data: Due['data']): void {
    this.#schedule.add({ atMs, account, submissionId, kind, data })
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
    for (const lane of submission.lanes.values()) this.proceed(submission, lane, due.atMs)
  }

  #quote(due: Due, submission: Submission): void {
    const lane = submission.lanes.get(String(due.data['lane_id']))
    if (!lane?.rail.submit_ready || lane.rail.quotes.length > 0 || lane.rail.chip !== 'in_progress') return
    this.release(submission, lane, due.atMs, { firm: lane.rail.program_category !== 'specialty' })
  }

  /**
   * Releases a quote on a lane: updates the rail, and adds an event and a mail. An earlier quote is superseded, and
   * draft bind requests of the lane expire.
   * @param terms `firm`: whether the quote can be bound. `totalCents`: total of the quote in cents;
   * default: a generated premium.
   */
  release(
    submission: Submission,
    lane: Lane,
    atMs: number,
    { firm, totalCents }: { firm: boolean; totalCents?: number | undefined },
  ): RailQuote {
    const { rail } = lane
    const market = programOf(rail.program_id)?.market
    const prng = new Prng(`${submission.id} ${rail.submission_market_id} quote ${rail.quotes.length}`)
    const quote = newQuote(prng, rail.lines, rail.quotes.at(-1), totalCents)
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
      submission.account,
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

function assumptionsOf({ records }: Submission, lane: Lane) {
  const assumed = lane.session ? (programOf(lane.rail.program_id)?.assumes ?? []) : []
  return assumed
    .filter((key) => !Object.hasOwn(records.answers, key))
    .map((key) => ({ key, label: labelOf(key), value: questionOf(key)?.favorable ?? null }))
}

/** @returns the persons and addresses in a submission's mails. */
export function writerOf({ id, facts, records }: Submission): Correspondence {
  const email = records.brief?.producerEmail ?? 'producer@brokerage.example'
  const name = email.split(/[.@]/)[0] ?? email
  return {
    insuredName: facts.insured_name,
    producer: { name: name.charAt(0).toUpperCase() + name.slice(1), email },
    rootMessageId: `<${id}@desk.invalid>`,
  }
}
