import { z } from 'zod'
import type { Prng } from '../world/prng.ts'

/** The operations that a fault can be limited to. */
export const operations = ['token', 'metadata', 'me', 'events', 'thread', 'requirements', 'list', 'delivery'] as const
export type Operation = (typeof operations)[number]

/**
 * What every fault can be limited by; without a limit it strikes each time.
 * @param striking the operations in which this kind of fault can strike at all: another one would never see it.
 */
function where<const O extends readonly Operation[]>(striking: O) {
  return {
    account: z.string().optional(),
    submissionId: z.string().toLowerCase().optional(),
    operation: z.enum(striking).optional(),
    probability: z.number().min(0).max(1).default(1),
    /** Strikes at most this many times. */
    count: z.int().positive().optional(),
  }
}

const inAnswers = where(operations.filter((operation) => operation !== 'delivery'))
const inFeeds = where(['events', 'thread'])
const inTokens = where(['token'])
const inDeliveries = where(['delivery'])

const ms = z.number().int().min(0).max(600_000)

/** One fault, as options and the admin route take it. */
export const faultSchema = z.discriminatedUnion('kind', [
  // Answers of the API.
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(400).max(599),
    body: z.enum(['json', 'html', 'empty']).default('json'),
    retryAfterSeconds: z.int().min(0).optional(),
    retryAfterAs: z.enum(['seconds', 'date']).default('seconds'),
    ...inAnswers,
  }),
  /** 200, and a page of HTML in place of the answer. */
  z.strictObject({ kind: z.literal('html'), ...inAnswers }),
  /** The declared length is longer than what is sent before the connection ends. */
  z.strictObject({ kind: z.literal('cut'), ...inAnswers }),
  /** Nothing is answered; the connection ends after `ms`. */
  z.strictObject({ kind: z.literal('hang'), ms: ms.default(60_000), ...inAnswers }),
  /** The right answer, `ms` late. */
  z.strictObject({ kind: z.literal('slow'), ms: ms.default(1_000), ...inAnswers }),
  // Pages of a feed.
  /** A good cursor is answered as invalid. */
  z.strictObject({ kind: z.literal('invalid_cursor'), ...inFeeds }),
  /** An empty page with the cursor that was sent. */
  z.strictObject({ kind: z.literal('stuck_cursor'), ...inFeeds }),
  /** An empty page with a cursor that moves on; at most three in a row. */
  z.strictObject({ kind: z.literal('empty_page'), ...inFeeds }),
  /** One item or more, up to what a whole page would have, with a cursor, even when nothing follows. */
  z.strictObject({ kind: z.literal('short_page'), ...inFeeds }),
  /** The token that is minted dies `ms` later, whatever its answer says. */
  z.strictObject({ kind: z.literal('token_dies_early'), ms: ms.default(0), ...inTokens }),
  // Deliveries.
  /** Never sent. */
  z.strictObject({ kind: z.literal('lose'), ...inDeliveries }),
  /** Sent twice with the same id. */
  z.strictObject({ kind: z.literal('duplicate'), ...inDeliveries }),
  /** Sent twice with two ids, as two endpoints at one address would get it. */
  z.strictObject({ kind: z.literal('twin'), ...inDeliveries }),
  /** Leaves the order of its submission and comes `ms` later. */
  z.strictObject({ kind: z.literal('reorder'), ms: ms.default(1_000), ...inDeliveries }),
  /** Comes `ms` later, and all later ones of its submission behind it. */
  z.strictObject({ kind: z.literal('delay'), ms: ms.default(1_000), ...inDeliveries }),
  /** `Date` headers and signature times are off by `ms`: ahead when positive. */
  z.strictObject({ kind: z.literal('clock_skew'), ms: z.number().int(), ...where(operations) }),
])

export type Fault = z.output<typeof faultSchema>
export type FaultInput = z.input<typeof faultSchema>
export type FaultKind = Fault['kind']

/** What is about to happen, for a fault to match. */
export interface Occasion {
  readonly operation: Operation
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
}

export const presets = ['none', 'all'] as const
export type Preset = (typeof presets)[number]

const reads = ['events', 'thread', 'requirements'] as const satisfies readonly Operation[]
/** Not for the token: a refused exchange is no weather, it means that the credential is gone. */
const refusals = [
  { status: 401 },
  { status: 404 },
  { status: 409 },
  { status: 429, retryAfterSeconds: 1 },
  { status: 429, retryAfterSeconds: 1, retryAfterAs: 'date' },
] as const

/** Everything that a preset does: 'all' is bad weather, in which every fault strikes now and then and nothing hangs for long. */
export function presetFaults(preset: Preset): FaultInput[] {
  if (preset === 'none') return []
  return [
    { kind: 'lose', probability: 0.12 },
    { kind: 'duplicate', probability: 0.1 },
    { kind: 'twin', probability: 0.08 },
    { kind: 'reorder', probability: 0.1, ms: 800 },
    { kind: 'delay', probability: 0.1, ms: 600 },
    { kind: 'clock_skew', ms: 45_000 },
    ...reads.flatMap((operation) => refusals.map((refusal): FaultInput => ({ kind: 'status', operation, probability: 0.01, ...refusal }))),
    { kind: 'status', status: 500, probability: 0.01 },
    { kind: 'status', status: 502, probability: 0.01, body: 'html' },
    { kind: 'status', status: 503, probability: 0.01, body: 'empty', retryAfterSeconds: 1 },
    { kind: 'html', probability: 0.01 },
    { kind: 'cut', probability: 0.01 },
    { kind: 'hang', probability: 0.005, ms: 2_000 },
    { kind: 'slow', probability: 0.03, ms: 300 },
    { kind: 'invalid_cursor', probability: 0.02 },
    { kind: 'stuck_cursor', probability: 0.02 },
    { kind: 'empty_page', probability: 0.1 },
    { kind: 'short_page', probability: 0.3 },
    { kind: 'token_dies_early', probability: 0.5, ms: 5_000 },
  ]
}

/** A fault with how often it has struck. */
export type FaultState = Fault & { readonly struck: number }

/** The faults that are on. Chance comes from a generator of its own: the world stays the same whatever goes wrong. */
export class FaultBook {
  #faults: { readonly fault: Fault; struck: number }[] = []
  readonly #prng: Prng
  readonly #onStrike: (fault: Fault, occasion: Occasion) => void

  constructor(prng: Prng, onStrike: (fault: Fault, occasion: Occasion) => void) {
    this.#prng = prng
    this.#onStrike = onStrike
  }

  /** Replaces all faults. @throws z.ZodError for a fault that is none. */
  set(faults: readonly FaultInput[]): void {
    this.#faults = faults.map((fault) => ({ fault: faultSchema.parse(fault), struck: 0 }))
  }

  /** Adds one fault. @throws z.ZodError for a fault that is none. */
  add(fault: FaultInput): void {
    this.#faults.push({ fault: faultSchema.parse(fault), struck: 0 })
  }

  list(): FaultState[] {
    return this.#faults.map(({ fault, struck }) => ({ ...fault, struck }))
  }

  /** @returns the first fault of one of these kinds that strikes on this occasion, and counts it; null for fair weather. */
  draw<K extends FaultKind>(kinds: readonly K[], occasion: Occasion): Extract<Fault, { kind: K }> | null {
    for (const entry of this.#faults) {
      const { fault } = entry
      if (!isOneOf(fault, kinds) || !matches(fault, occasion)) continue
      if (fault.count !== undefined && entry.struck >= fault.count) continue
      if (fault.probability < 1 && !this.#prng.chance(fault.probability)) continue
      entry.struck++
      this.#onStrike(fault, occasion)
      return fault
    }
    return null
  }

  /** @returns a whole number from `min` to `max`, for what a fault leaves open. */
  int(min: number, max: number): number {
    return this.#prng.int(min, max)
  }
}

function isOneOf<K extends FaultKind>(fault: Fault, kinds: readonly K[]): fault is Extract<Fault, { kind: K }> {
  return kinds.some((kind) => kind === fault.kind)
}

function matches(fault: Fault, occasion: Occasion): boolean {
  if (fault.operation !== undefined && fault.operation !== occasion.operation) return false
  if (fault.account !== undefined && fault.account !== occasion.account) return false
  return fault.submissionId === undefined || fault.submissionId === occasion.submissionId
}
