import { z } from 'zod'
import type { Prng } from '../world/prng.ts'

export const operations = [
  'token',
  'metadata',
  'authorize',
  'device',
  'register',
  'me',
  'events',
  'thread',
  'requirements',
  'outstanding',
  'workspace',
  'sessions',
  'bind_request',
  'policy',
  'insured',
  'document',
  'forms',
  'appetite',
  'list',
  'write',
  'extra',
  'delivery',
] as const
export type Operation = (typeof operations)[number]

/**
 * Fields that limit when a fault occurs. Without these fields, the fault occurs every time.
 * @param striking the operations in which the fault can occur.
 */
function limits<const O extends readonly Operation[]>(striking: O) {
  return {
    account: z.string().optional(),
    submissionId: z.string().toLowerCase().optional(),
    operation: z.enum(striking).optional(),
    probability: z.number().min(0).max(1).default(1),
    /** Maximum number of times that the fault occurs. */
    count: z.int().positive().optional(),
  }
}

const inAnswers = limits(operations.filter((operation) => operation !== 'delivery'))
const inFeeds = limits(['events', 'thread'])
const inTokens = limits(['token'])
const inDeliveries = limits(['delivery'])
const inDocuments = limits(['document'])
const inWrites = limits(['write'])

const ms = z.number().int().min(0).max(600_000)

/** Schema of a fault in the options and in the admin route. */
export const faultSchema = z.discriminatedUnion('kind', [
  // Faults of API answers.
  z.strictObject({
    kind: z.literal('status'),
    status: z.int().min(400).max(599),
    body: z.enum(['json', 'html', 'empty']).default('json'),
    retryAfterSeconds: z.int().min(0).optional(),
    retryAfterAs: z.enum(['seconds', 'date']).default('seconds'),
    ...inAnswers,
  }),
  /** Answers 200 with HTML. */
  z.strictObject({ kind: z.literal('html'), ...inAnswers }),
  /** Closes the connection before all announced bytes are sent. */
  z.strictObject({ kind: z.literal('cut'), ...inAnswers }),
  /** Closes the connection after `ms` without an answer. */
  z.strictObject({ kind: z.literal('hang'), ms: ms.default(60_000), ...inAnswers }),
  /** Answers `ms` late. */
  z.strictObject({ kind: z.literal('slow'), ms: ms.default(1_000), ...inAnswers }),
  // Faults of feed pages.
  /** Rejects a valid cursor. */
  z.strictObject({ kind: z.literal('invalid_cursor'), ...inFeeds }),
  /** Answers an empty page with the same cursor. */
  z.strictObject({ kind: z.literal('stuck_cursor'), ...inFeeds }),
  z.strictObject({ kind: z.literal('no_next_cursor'), ...inFeeds }),
  /** Answers an empty page with a new cursor, at most three times in a row. */
  z.strictObject({ kind: z.literal('empty_page'), ...inFeeds }),
  /** Answers some or all of the page's items, with a cursor even at the end of the feed. */
  z.strictObject({ kind: z.literal('short_page'), ...inFeeds }),
  /** A new token expires after `ms`, which is earlier than announced. */
  z.strictObject({ kind: z.literal('token_dies_early'), ms: ms.default(0), ...inTokens }),
  /** A stored PDF can't be retrieved. */
  z.strictObject({ kind: z.literal('pdf_unavailable'), ...inDocuments }),
  /** Refuses a checkpoint because the application is being saved. */
  z.strictObject({ kind: z.literal('application_busy'), ...inWrites }),
  // Faults of deliveries.
  /** Never sends the delivery. */
  z.strictObject({ kind: z.literal('lose'), ...inDeliveries }),
  /** Sends the delivery twice with the same id. */
  z.strictObject({ kind: z.literal('duplicate'), ...inDeliveries }),
  /** Sends the delivery twice with different ids, as if two endpoints had the same address. */
  z.strictObject({ kind: z.literal('twin'), ...inDeliveries }),
  /** Sends the delivery `ms` later. Later deliveries of the submission overtake it. */
  z.strictObject({ kind: z.literal('reorder'), ms: ms.default(1_000), ...inDeliveries }),
  /** Sends the delivery `ms` later. Later deliveries of the submission wait for it. */
  z.strictObject({ kind: z.literal('delay'), ms: ms.default(1_000), ...inDeliveries }),
  /** Adds `ms` to the times in `Date` headers and signatures. */
  z.strictObject({ kind: z.literal('clock_skew'), ms: z.number().int(), ...limits(operations) }),
])

export type Fault = z.output<typeof faultSchema>
export type FaultInput = z.input<typeof faultSchema>
type FaultKind = Fault['kind']

export interface FaultContext {
  readonly operation: Operation
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
}

export const presets = ['none', 'all'] as const
export type Preset = (typeof presets)[number]

const readOperations = ['events', 'thread', 'requirements', 'outstanding', 'workspace', 'sessions'] as const satisfies readonly Operation[]
/**
 * Error answers to reads in the preset `all`. Token requests get none of these errors, because a rejected token request
 * would mean that the credential was revoked.
 */
const refusals = [
  { status: 401 },
  { status: 404 },
  { status: 409 },
  { status: 429, retryAfterSeconds: 1 },
  { status: 429, retryAfterSeconds: 1, retryAfterAs: 'date' },
] as const

/**
 * @returns the faults of a preset. `all` has every kind except `no_next_cursor`. Most occur rarely,
 * and hangs are short.
 */
export function presetFaults(preset: Preset): FaultInput[] {
  if (preset === 'none') return []
  return [
    { kind: 'lose', probability: 0.12 },
    { kind: 'duplicate', probability: 0.1 },
    { kind: 'twin', probability: 0.08 },
    { kind: 'reorder', probability: 0.1, ms: 800 },
    { kind: 'delay', probability: 0.1, ms: 600 },
    { kind: 'clock_skew', ms: 45_000 },
    ...readOperations.flatMap((operation) =>
      refusals.map((refusal): FaultInput => ({ kind: 'status', operation, probability: 0.01, ...refusal })),
    ),
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
    { kind: 'pdf_unavailable', probability: 0.02 },
    { kind: 'application_busy', probability: 0.1 },
  ]
}

type FaultState = Fault & { readonly struck: number }

/**
 * Holds the active faults and draws them at random. Uses its own random generator, so that faults
 * don't change the data.
 */
export class FaultInjector {
  #faults: { readonly fault: Fault; struck: number }[] = []
  readonly #prng: Prng
  readonly #onStrike: (fault: Fault, context: FaultContext) => void

  constructor(prng: Prng, onStrike: (fault: Fault, context: FaultContext) => void) {
    this.#prng = prng
    this.#onStrike = onStrike
  }

  /**
   * Replaces all faults.
   * @throws z.ZodError if a fault is invalid.
   */
  set(faults: readonly FaultInput[]): void {
    this.#faults = faults.map((fault) => ({ fault: faultSchema.parse(fault), struck: 0 }))
  }

  /**
   * Adds a fault.
   * @throws z.ZodError if the fault is invalid.
   */
  add(fault: FaultInput): void {
    this.#faults.push({ fault: faultSchema.parse(fault), struck: 0 })
  }

  list(): FaultState[] {
    return this.#faults.map(({ fault, struck }) => ({ ...fault, struck }))
  }

  /** @returns the first fault of these kinds that occurs now; null if none occurs. */
  draw<K extends FaultKind>(kinds: readonly K[], context: FaultContext): Extract<Fault, { kind: K }> | null {
    for (const entry of this.#faults) {
      const { fault } = entry
      if (!isOneOf(fault, kinds) || !matches(fault, context)) continue
      if (fault.count !== undefined && entry.struck >= fault.count) continue
      if (fault.probability < 1 && !this.#prng.chance(fault.probability)) continue
      entry.struck++
      this.#onStrike(fault, context)
      return fault
    }
    return null
  }

  int(min: number, max: number): number {
    return this.#prng.int(min, max)
  }
}

function isOneOf<K extends FaultKind>(fault: Fault, kinds: readonly K[]): fault is Extract<Fault, { kind: K }> {
  return kinds.some((kind) => kind === fault.kind)
}

function matches(fault: Fault, context: FaultContext): boolean {
  if (fault.operation !== undefined && fault.operation !== context.operation) return false
  if (fault.account !== undefined && fault.account !== context.account) return false
  return fault.submissionId === undefined || fault.submissionId === context.submissionId
}
