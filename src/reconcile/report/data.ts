import type { Json } from '../../model/json.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { withInsured } from '../../store/mirror/submissions.ts'
import { atDestinations } from '../../store/reconcile/at-destinations.ts'
import { countFirstSeen, mirrorFigures } from '../../store/reconcile/figures.ts'
import { countFindings, type FindingRow, listFindings } from '../../store/reconcile/findings.ts'
import type { RunRow } from '../../store/reconcile/runs.ts'
import { findingKinds } from '../../store/schema/reconcile.ts'
import { firstSeenOf } from './buckets.ts'
import type { FindingGroup, ReportData, ReportFinding } from './report-data.ts'
import { shownText, shownValue } from './shown-value.ts'

const LISTED = 200
const MAX_FIELDS = 40

/**
 * Reads the data of a run's report. The read is slow, because it counts every event and message of the account. A
 * process that receives deliveries must pass a report reader (`store/sqlite/report-reader.ts`) as `q`.
 * @param version the program's version.
 */
export async function readReport(q: Query, run: RunRow, version: string): Promise<ReportData> {
  return {
    run: { ...run, note: run.note === null ? null : shownText(run.note, 400) },
    groups: await readGroups(q, run.run_id),
    firstSeen: firstSeenOf(await countFirstSeen(q, run.account)),
    mirror: await mirrorFigures(q, run.account),
    destinations: await atDestinations(q, run.account),
    madeAt: timeFromMs(q.clock.now()),
    version,
  }
}

async function readGroups(q: Query, runId: string): Promise<FindingGroup[]> {
  const counts = await countFindings(q, runId)
  const groups: FindingGroup[] = []
  for (const known of [false, true]) {
    for (const kind of findingKinds) {
      const byEntity = counts.filter((count) => count.kind === kind && count.known === known)
      if (byEntity.length === 0) continue
      const rows = await withInsured(q, await listFindings(q, { runId, kind, known, limit: LISTED }))
      groups.push({
        kind,
        known,
        total: byEntity.reduce((sum, { total }) => sum + total, 0),
        byEntity: byEntity.map(({ entity, total, repaired }) => ({ entity, total, repaired })),
        shown: rows.map(findingOf),
      })
    }
  }
  return groups
}

function findingOf(row: FindingRow & { readonly insured_name: string | null }): ReportFinding {
  return {
    submissionId: row.submission_id,
    insuredName: row.insured_name === null ? null : shownText(row.insured_name, 120),
    kind: row.kind,
    entity: row.entity,
    record: recordOf(row),
    differences: (row.fields ?? []).slice(0, MAX_FIELDS).map(({ field, mirror, service }) => ({
      field: shownText(field, 80),
      mirror: shownValue(row.entity ?? '', field, mirror),
      service: shownValue(row.entity ?? '', field, service),
    })),
    read: row.read,
    destination: row.destination,
    repairedAt: row.repaired_at,
    detail: shownText(row.detail, 300),
  }
}

function recordOf(row: FindingRow): string | null {
  if (row.entity_id === null) return null
  const key = JSON.parse(row.entity_id) as Json
  if (!Array.isArray(key)) return shownText(row.entity_id, 200)
  const rest = key[0] === row.submission_id ? key.slice(1) : key
  return rest.length === 0 ? null : shownText(rest.map(String).join(' / '), 200)
}
