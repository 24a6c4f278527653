import type { FastifyRequest } from 'fastify'
import type { Fault, FaultContext } from './faults.ts'

export type DeliveryOutcome = 'acknowledged' | 'lost' | 'given_up'

/** Something that happened in the sandbox. Reported to observers. */
export type Notice =
  | {
      readonly kind: 'delivery'
      readonly outcome: DeliveryOutcome
      readonly account: string
      readonly submissionId: string
      readonly deliveryId: string
      readonly type: string
      /** Ids of the events or the message in the delivery. */
      readonly itemIds: readonly string[]
    }
  | { readonly kind: 'fault'; readonly fault: Fault; readonly context: FaultContext }
  | { readonly kind: 'step'; readonly account: string; readonly submissionId: string; readonly label: string }

interface RequestSeen {
  readonly operation: string
  readonly method: string
  /** Path and query as sent. */
  readonly url: string
  readonly account: string | null
}

/** Totals since the sandbox started. */
export interface Counts {
  readonly deliveries: {
    /** Number of queued deliveries, including duplicates. Excludes deliveries lost before they were queued. */
    queued: number
    tries: number
    acknowledged: number
    lost: number
    /** Duplicates with the same delivery id. */
    duplicated: number
    /** Duplicates with a different delivery id. */
    twinned: number
    reordered: number
    delayed: number
    givenUp: number
  }
  readonly requests: Record<string, number>
  readonly faults: Record<string, number>
  tokensMinted: number
  tokensRefused: number
}

/** @returns the record of a request. Headers and body are left out, because headers contain secrets. */
export function requestRecord(operation: string, request: FastifyRequest, account?: string): RequestSeen {
  return { operation, method: request.method, url: request.url, account: account ?? null }
}

const MAX_REQUESTS = 20_000

/** Records requests and other activity for tests, the route `/_sandbox/stats`, and observers. */
export class ActivityLog {
  readonly counts: Counts = {
    deliveries: { queued: 0, tries: 0, acknowledged: 0, lost: 0, duplicated: 0, twinned: 0, reordered: 0, delayed: 0, givenUp: 0 },
    requests: {},
    faults: {},
    tokensMinted: 0,
    tokensRefused: 0,
  }
  readonly writes: RequestSeen[] = []
  #requests: RequestSeen[] = []
  readonly #observe: (notice: Notice) => void

  constructor(observe: (notice: Notice) => void) {
    this.#observe = observe
  }

  get requests(): readonly RequestSeen[] {
    return this.#requests
  }

  request(request: RequestSeen): void {
    this.counts.requests[request.operation] = (this.counts.requests[request.operation] ?? 0) + 1
    if (this.#requests.length >= MAX_REQUESTS * 2) this.#requests = this.#requests.slice(-MAX_REQUESTS)
    this.#requests.push(request)
    if (request.operation === 'write') this.writes.push(request)
  }

  notice(notice: Notice): void {
    if (notice.kind === 'fault') this.counts.faults[notice.fault.kind] = (this.counts.faults[notice.fault.kind] ?? 0) + 1
    this.#observe(notice)
  }
}
