import { table } from '../ops/output/table.ts'
import type { AmsVerdict } from './ams-check.ts'
import type { ServiceStats } from './service.ts'

/** Faults of deliveries have lines of their own, and a wrong clock affects every answer. */
const SHOWN_ELSEWHERE = new Set(['lose', 'duplicate', 'twin', 'reorder', 'delay', 'clock_skew'])

/** What the service did, as a table. */
export function serviceTable({ deliveries, requests, faults }: ServiceStats): string {
  const sum = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((total, n) => total + n, 0)
  const ofRequests = Object.fromEntries(Object.entries(faults).filter(([kind]) => !SHOWN_ELSEWHERE.has(kind)))
  return table({
    headings: ['what', 'times'],
    rows: [
      ['deliveries sent', deliveries.queued],
      ['deliveries lost on the way', deliveries.lost],
      ['sent twice, under one id or two', deliveries.duplicated + deliveries.twinned],
      ['sent late or out of order', deliveries.delayed + deliveries.reordered],
      ['requests answered', sum(requests)],
      ['faults in them: refusals, hangs, broken and short pages', sum(ofRequests)],
    ],
  })
}

/** What became of the changes at the AMS, as a table. */
export function amsTable(v: AmsVerdict, badSignatures: number): string {
  return table({
    headings: ['what', 'changes'],
    rows: [
      ['logged by the mirror', v.logged],
      ['arrived at the AMS', v.arrived],
      ['refused by it at first, and sent again', v.refused],
      ['taken twice, because its answer was lost', v.repeated],
      ['missing', v.missing],
      ['out of order within a submission', v.disordered],
      ['under another id when it came again', v.otherIds],
      ['with a bad signature', badSignatures],
    ],
  })
}
