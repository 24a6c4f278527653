import { printableLine } from '../ops/output/text.ts'
import { type AmsVerdict, isWhole } from './ams-check.ts'
import type { Tally } from './arrivals.ts'
import type { Compared } from './compare.ts'
import type { ServiceStats } from './service.ts'

/** Faults that don't make a request fail: faults of deliveries, and a wrong clock, which affects every answer. */
const NOT_REQUEST_FAULTS = new Set(['lose', 'duplicate', 'twin', 'reorder', 'delay', 'clock_skew'])

/** @returns a line with the numbers of deliveries, requests, and faults. */
export function faultsText({ deliveries: d, requests, faults }: ServiceStats): string {
  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((total, n) => total + n, 0)
  const ofRequests = Object.fromEntries(Object.entries(faults).filter(([kind]) => !NOT_REQUEST_FAULTS.has(kind)))
  const deliveries = `of ${d.queued} deliveries, ${d.lost} lost, ${d.duplicated + d.twinned} sent twice, ${d.delayed + d.reordered} late`
  return `Faults: ${deliveries}; of ${sum(requests)} requests, ${sum(ofRequests)} failed.`
}

export interface DemoResult {
  readonly compared: readonly Compared[]
  readonly pushed: AmsVerdict
  readonly badSignatures: number
  readonly tally: Tally
  /** Number of records that no webhook announced. */
  readonly lostWebhooks: number
  /** `summary` is one line: what the run did and found, or why it failed. */
  readonly reconciliation: { readonly summary: string; readonly isClean: boolean }
}

export interface DemoVerdict {
  readonly isGood: boolean
  /** Five lines to print. */
  readonly lines: readonly string[]
}

export function verdictOf({ compared, pushed, badSignatures, tally, lostWebhooks, reconciliation }: DemoResult): DemoVerdict {
  const differences = compared.flatMap((each) => each.differences)
  const agrees = differences.length === 0 && reconciliation.isClean
  const shownIn = (...tables: string[]) => sumOf(compared.filter(({ table }) => tables.includes(table)))
  const mirror = agrees ? 'The mirror agrees with the service' : 'The mirror DIFFERS from the service'
  const ams = isWhole(pushed) ? 'the AMS has every change, in order' : 'the AMS LACKS changes or has them out of order'
  const { webhook, poll, history, found } = tally
  const records = shownIn('market_events', 'thread_messages')
  const faults = isWhole(pushed) ? '' : `, ${pushed.missing} missing, ${pushed.disordered} out of order, ${pushed.otherIds} with another id`
  const signatures = badSignatures === 0 ? '' : `, ${badSignatures} with a bad signature`
  const [first] = differences
  const example = first === undefined ? '' : `; first: ${first.table} ${first.submissionId}`
  return {
    isGood: agrees && isWhole(pushed),
    lines: [
      `${mirror}, and ${ams}.`,
      `  Arrivals        ${records} records: ${webhook} by webhook, ${poll + found} by polling (${lostWebhooks} lost webhooks), ${history} older`,
      `  Mirror          ${sumOf(compared)} rows of ${compared.length} tables compared with the emulator's own data, ${differences.length} different${example}`,
      `  AMS             ${pushed.arrived} of ${pushed.logged} changes received, ${pushed.refused} rejected and retried, ${pushed.repeated} received twice${faults}${signatures}`,
      `  Reconciliation  ${printableLine(reconciliation.summary.replace('rows compared', 'rows of API answers compared'), 82)}`,
    ],
  }
}

function sumOf(compared: readonly Compared[]): number {
  return compared.reduce((sum, { shown }) => sum + shown, 0)
}
