import type { MarketEvent as EventRead } from '../../client/schemas/events.ts'
import type { RequirementsView as ViewRead } from '../../client/schemas/requirements.ts'
import type { ThreadMessage as MessageRead } from '../../client/schemas/thread.ts'

/**
 * Types of the service's answers, derived from the client's schemas. The mirror has its own types (`upstream/wire`). If
 * the sandbox and the mirror shared code, tests would not find a wrong reading of the specification.
 */

/** The texts that a schema lists for a value; `never` if the schema allows any text. */
type Named<T> = T extends string ? (string extends T ? never : T) : never
type Fields<T> = T extends readonly (infer Item)[]
  ? readonly Sent<Item>[]
  : T extends object
    ? { readonly [Name in keyof T as string extends Name ? never : Name]-?: Sent<Exclude<T[Name], undefined>> }
    : T
/** A value as the sandbox sends it: exactly the schema's fields, and only known values. */
type Sent<T> = [Named<T>] extends [never] ? Fields<T> : Named<T> | Exclude<T, string>

/** An event of the events feed. `type` is any text, because tests add other types. */
export interface MarketEvent extends Omit<Sent<EventRead>, 'type'> {
  readonly type: string
}
export type EventMarket = MarketEvent['market']
/** `ProgramCategory` of the specification. */
export type ProgramCategory = EventMarket['category']

/** A message of the thread feed. */
export type ThreadMessage = Sent<MessageRead>
export type Attachment = ThreadMessage['attachments'][number]

type View = Sent<ViewRead>
/** Fields of the requirements view, except its submission id, markets, carrier sessions, assessment, and rail. */
export type SubmissionFacts = Omit<View, 'submission_id' | 'markets' | 'carrier_api_sessions' | 'assessment' | 'rail'>

export interface RequirementsView extends SubmissionFacts, Pick<View, 'submission_id' | 'assessment' | 'rail'> {
  readonly markets: readonly MarketReadiness[]
  readonly carrier_api_sessions: readonly CarrierSession[]
}

export type MarketReadiness = View['markets'][number] & {
  /** Added by the sandbox. The specification has no list in which clients could find this id. */
  readonly bind_request_id?: string
}

export interface CarrierSession extends Omit<View['carrier_api_sessions'][number], 'missing_questions'> {
  readonly missing_questions: readonly { readonly key: string; readonly label: string }[]
}

export type Assessment = NonNullable<View['assessment']>
export type ProgramAssessment = Assessment['programs'][number]
export type RequirementItem = ProgramAssessment['met'][number]

export type Rail = NonNullable<View['rail']>
export type RailLane = Rail['lanes'][number]
export type RailQuote = RailLane['quotes'][number]
export type SourceOffer = RailLane['source_offers'][number]
export type QuoteHistoryItem = Rail['quote_history'][number]
