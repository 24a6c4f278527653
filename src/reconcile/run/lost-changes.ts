import { findWrongEnds, repairEndsIn, type WrongEnd, wrongEndText } from '../../store/changes/log-ends.ts'
import { findGaps, isGapReported, type LogGap, logEnds } from '../../store/changes/log-gaps.ts'
import type { DatabaseConfig, Db, Query } from '../../store/engine/db.ts'
import type { RunOptions } from '../../store/schema/tables-reconcile.ts'
import { openReportReader } from '../../store/sqlite/report-reader.ts'
import { type FoundDifference, finding } from '../check/finding.ts'
import type { Recorder } from '../check/recorder.ts'

/** Rows of the change log at a time. */
const PAGE = 10_000
/** More holes than this are not listed one by one. */
const LISTED = 100

export interface LogScope {
  readonly db: Db
  readonly database: DatabaseConfig | null
  readonly runId: string
  readonly options: RunOptions
  readonly recorder: Recorder
}

/**
 * Puts right what `mirror_info` says of the ends of the change log, and reports the numbers between `first_seq` and `last_seq` that it has
 * no row of (invariant 9): somebody has deleted rows. The log is that of all accounts, so the first run that comes by reports a hole, and
 * those of the other accounts know it then. A run of chosen submissions does not look.
 */
export async function reportLost(scope: LogScope, signal: AbortSignal): Promise<void> {
  const { db, database, options } = scope
  if (options.submissions !== undefined) return
  const left = await mendEnds(scope)
  if (database === null) return await walkLog(db.read, scope, left, signal)
  const aside = openReportReader(db, database)
  try {
    await walkLog(aside.read, scope, left, signal)
  } finally {
    await aside.close()
  }
}

/** Makes `mirror_info` say again between which numbers the log lies; a dry run leaves it. @returns what is left misstated. */
async function mendEnds({ db, options, recorder }: LogScope): Promise<readonly WrongEnd[]> {
  const misstated = await findWrongEnds(db.read)
  if (misstated.length === 0) return []
  const repaired = options.dry_run !== true
  await db.write('reconcile-log-ends', async (tx) => {
    await recorder.keep(tx, [foundMisstated(misstated, repaired)])
    if (repaired) await repairEndsIn(tx)
  })
  return repaired ? [] : misstated
}

async function walkLog(q: Query, { runId, recorder }: LogScope, left: readonly WrongEnd[], signal: AbortSignal): Promise<void> {
  const right = Object.fromEntries(left.map(({ column, is }) => [column, is]))
  const ends = async () => ({ ...(await logEnds(q)), ...right })
  const { first_seq, last_seq } = await ends()
  let listed = 0
  let more = 0
  for (let after: number | null = first_seq - 1; after !== null; ) {
    signal.throwIfAborted()
    const { gaps, next }: { gaps: LogGap[]; next: number | null } = await findGaps(q, after, last_seq, PAGE)
    const stand = gaps.length === 0 ? [] : withoutRemoved(gaps, (await ends()).first_seq)
    const shown = stand.slice(0, LISTED - listed)
    const found: FoundDifference[] = []
    for (const hole of shown) found.push(foundHole(hole, await isGapReported(q, hole, runId)))
    await recorder.keepAlone(found)
    listed += shown.length
    more += stand.length - shown.length
    after = next
  }
  if (more === 0) return
  const detail = `the change log has ${more} more holes; compare the numbers in \`changes\` with what \`mirror_info\` says of them`
  await recorder.keepAlone([finding({ kind: 'lost', entity: 'changes', standing: await isGapReported(q, null, runId), detail })])
}

/** What retention has removed meanwhile, or before the rest of a hole, is not missing. */
function withoutRemoved(holes: readonly LogGap[], firstSeq: number): LogGap[] {
  return holes.filter(({ last }) => last >= firstSeq).map(({ first, last }) => ({ first: Math.max(first, firstSeq), last }))
}

/** They stand in one row, and of a row a run tells once. */
function foundMisstated(ends: readonly WrongEnd[], repaired: boolean): FoundDifference {
  const fields = ends.map(({ column: field, said: mirror, is: service }) => ({ field, mirror, service }))
  const detail = `${ends.map(wrongEndText).join('; ')}${repaired ? '; corrected, and the numbering continues' : ''}`
  return finding({ kind: 'different', entity: 'mirror_info', fields, repaired, detail })
}

function foundHole({ first, last }: LogGap, standing: boolean): FoundDifference {
  const which = first === last ? `change ${first} is` : `changes ${first} to ${last} are`
  const detail = `${which} no longer in the change log, and cannot be brought back: readers and destinations that had not read so far miss ${first === last ? 'it' : 'them'}`
  return finding({ kind: 'lost', entity: 'changes', entityId: JSON.stringify([first, last]), seq: last, standing, detail })
}
