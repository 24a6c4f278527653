import { findWrongEnds, repairEndsIn, type WrongEnd, wrongEndText } from '../../store/changes/log-ends.ts'
import { findGaps, isGapReported, type LogGap } from '../../store/changes/log-gaps.ts'
import { logEnds } from '../../store/changes/log-info.ts'
import type { DatabaseConfig, Db, Query } from '../../store/engine/db.ts'
import type { RunOptions } from '../../store/schema/reconcile.ts'
import { openReportReader } from '../../store/sqlite/report-reader.ts'
import { finding, type NewFinding } from '../check/finding.ts'
import type { Recorder } from '../check/recorder.ts'

const PAGE = 10_000
/** Maximum number of gaps that get their own finding. One more finding contains the number of the other gaps. */
const MAX_LISTED = 100

export interface LogContext {
  readonly db: Db
  readonly database: DatabaseConfig | null
  readonly runId: string
  readonly options: RunOptions
  readonly recorder: Recorder
}

/**
 * Repairs wrong values of `first_seq` and `last_seq` in `mirror_info`; a dry run only reports them. Also reports
 * missing numbers in `changes`. A missing number means that a row was deleted.
 * All accounts share the change log. The first run that finds a gap reports the gap as new. Later runs of any account
 * report it as known.
 * Runs of chosen submissions skip this check.
 */
export async function reportLost(scope: LogContext, signal: AbortSignal): Promise<void> {
  const { db, database, options } = scope
  if (options.submissions !== undefined) return
  const wrongEnds = await repairLogEnds(scope)
  if (database === null) return await readWholeLog(db.read, scope, wrongEnds, signal)
  const reader = openReportReader(db, database)
  try {
    await readWholeLog(reader.read, scope, wrongEnds, signal)
  } finally {
    await reader.close()
  }
}

async function repairLogEnds({ db, options, recorder }: LogContext): Promise<readonly WrongEnd[]> {
  const wrongEnds = await findWrongEnds(db.read)
  if (wrongEnds.length === 0) return []
  const repaired = options.dry_run !== true
  await db.write('reconcile-log-ends', async (tx) => {
    await recorder.record(tx, [wrongEndsFinding(wrongEnds, repaired)])
    if (repaired) await repairEndsIn(tx)
  })
  return repaired ? [] : wrongEnds
}

async function readWholeLog(q: Query, { runId, recorder }: LogContext, wrongEnds: readonly WrongEnd[], signal: AbortSignal): Promise<void> {
  const correctEnds = Object.fromEntries(wrongEnds.map(({ column, actual }) => [column, actual]))
  const ends = async () => ({ ...(await logEnds(q)), ...correctEnds })
  const { first_seq, last_seq } = await ends()
  let listed = 0
  let more = 0
  for (let after: number | null = first_seq - 1; after !== null; ) {
    signal.throwIfAborted()
    const { gaps, next }: { gaps: LogGap[]; next: number | null } = await findGaps(q, after, last_seq, PAGE)
    const lost = gaps.length === 0 ? [] : withoutExpired(gaps, (await ends()).first_seq)
    const shown = lost.slice(0, MAX_LISTED - listed)
    const findings: NewFinding[] = []
    for (const gap of shown) findings.push(gapFinding(gap, await isGapReported(q, gap, runId)))
    await recorder.recordInBatches(findings)
    listed += shown.length
    more += lost.length - shown.length
    after = next
  }
  if (more === 0) return
  const detail = `the change log has ${more} more gaps; compare \`seq\` in \`changes\` with \`first_seq\` and \`last_seq\` in \`mirror_info\``
  await recorder.recordInBatches([finding({ kind: 'lost', entity: 'changes', known: await isGapReported(q, null, runId), detail })])
}

/** Removes numbers below `firstSeq`, because retention deleted the rows with these numbers. */
function withoutExpired(gaps: readonly LogGap[], firstSeq: number): LogGap[] {
  return gaps.filter(({ last }) => last >= firstSeq).map(({ first, last }) => ({ first: Math.max(first, firstSeq), last }))
}

function wrongEndsFinding(ends: readonly WrongEnd[], repaired: boolean): NewFinding {
  const fields = ends.map(({ column: field, stored: mirror, actual: service }) => ({ field, mirror, service }))
  const detail = `${ends.map(wrongEndText).join('; ')}${repaired ? '; corrected, and the numbering continues' : ''}`
  return finding({ kind: 'different', entity: 'mirror_info', fields, repaired, detail })
}

function gapFinding({ first, last }: LogGap, known: boolean): NewFinding {
  const which = first === last ? `change ${first} is` : `changes ${first} to ${last} are`
  const detail = `${which} no longer in the change log and cannot be restored: readers and destinations that were further behind miss ${first === last ? 'it' : 'them'}`
  return finding({ kind: 'lost', entity: 'changes', entityId: JSON.stringify([first, last]), seq: last, known, detail })
}
