import { firstSeenOf } from '../../../src/reconcile/report/buckets.ts'
import type { FindingGroup, ReportData, ReportFinding } from '../../../src/reconcile/report/report-data.ts'
import type { SeenCount } from '../../../src/store/reconcile/figures.ts'
import type { FindingKind, ReconcileFindingsTable, ReconcileRunsTable } from '../../../src/store/schema/reconcile.ts'
import { uuid } from '../../tools/observations.ts'

/** @returns a time after the request of the sample run. */
export function moment(seconds: number): string {
  return new Date(Date.UTC(2026, 10, 20, 3) + seconds * 1000).toISOString().replace('Z', '000Z')
}

export function run(over: Partial<ReconcileRunsTable> = {}): ReconcileRunsTable {
  return {
    run_id: uuid(8, 1),
    account: 'default',
    slot: null,
    requested_by: 'command',
    options: {},
    state: 'done',
    requested_at: moment(0),
    started_at: moment(1),
    updated_at: moment(75),
    ended_at: moment(75),
    submissions_total: 12,
    submissions_done: 12,
    rows_compared: 3_456,
    missing: 0,
    different: 0,
    absent: 0,
    unreadable: 0,
    undelivered: 0,
    lost: 0,
    moved: 0,
    repaired: 0,
    known: 0,
    exit_code: 0,
    note: null,
    ...over,
  }
}

export function finding(no: number, kind: FindingKind, over: Partial<ReportFinding> = {}): ReportFinding {
  return {
    submissionId: uuid(9, 1),
    insuredName: null,
    kind,
    entity: 'market_events',
    record: uuid(1, no),
    differences: [],
    read: 'events',
    destination: null,
    repairedAt: moment(60 + no),
    detail: `finding ${no}`,
    ...over,
  }
}

export function findingRow(run_id: string, finding_no: number, over: Partial<ReconcileFindingsTable>): ReconcileFindingsTable {
  const about = {
    account: 'default',
    submission_id: null,
    kind: 'missing',
    entity: 'market_events',
    entity_id: `["${finding_no}"]`,
  } as const
  const none = { fields: null, read: null, destination: null, seq: null, repaired_at: null }
  return { run_id, finding_no, ...about, ...none, known: false, detail: 'words', found_at: moment(0), ...over }
}

export function group(kind: FindingKind, shown: readonly ReportFinding[], over: Partial<FindingGroup> = {}): FindingGroup {
  const repaired = shown.filter(({ repairedAt }) => repairedAt !== null).length
  return {
    kind,
    known: false,
    total: shown.length,
    byEntity: [{ entity: 'market_events', total: shown.length, repaired }],
    shown,
    ...over,
  }
}

export const seen: readonly SeenCount[] = [
  { at: moment(0), via: 'backfill', entity: 'market_events', count: 40 },
  { at: moment(86_400), via: 'webhook', entity: 'market_events', count: 9 },
  { at: moment(86_400), via: 'poll', entity: 'thread_messages', count: 3 },
  { at: moment(4 * 86_400), via: 'webhook', entity: 'thread_messages', count: 5 },
  { at: moment(4 * 86_400), via: 'reconcile', entity: 'market_events', count: 2 },
]

export function report(over: Partial<ReportData> = {}): ReportData {
  return {
    run: run(),
    groups: [],
    firstSeen: firstSeenOf(seen),
    mirror: {
      database: 'sqlite',
      schemaVersion: 4,
      logEpoch: uuid(7, 1),
      firstSeq: 1,
      lastSeq: 902,
      submissions: 12,
      tables: [{ table: 'market_events', rows: 3_200 }],
      unreachable: 0,
      trackedVia: [{ via: 'webhook', submissions: 12 }],
    },
    destinations: [],
    madeAt: moment(90),
    version: '0.1.0',
    ...over,
  }
}
