import { setImmediate as turn } from 'node:timers/promises'
import { withoutAnswer } from '../../model/masking.ts'
import type { Db, Query } from '../../store/engine/db.ts'
import {
  isDestinationReported,
  pushDestinations,
  reopenStreams,
  type Undelivered,
  type UndeliveredState,
  undeliveredAfter,
} from '../../store/reconcile/pushes.ts'
import type { RunOptions } from '../../store/schema/reconcile.ts'
import { finding, type NewFinding } from '../check/finding.ts'
import type { Recorder } from '../check/recorder.ts'

const PAGE = 500
/**
 * Maximum number of findings for one destination and one state. One more finding contains the number of the other
 * changes.
 */
const MAX_LISTED = 1_000
const STATES: readonly UndeliveredState[] = ['dead', 'unknown', 'ready']

export interface PushContext {
  readonly db: Db
  readonly account: string
  readonly runId: string
  readonly options: RunOptions
  readonly destinations: readonly string[]
  readonly recorder: Recorder
}

/**
 * Reports changes of an account that may not have reached a destination. Also recreates deleted rows of streams, so
 * that waiting changes are sent. A dry run only reports.
 */
export async function reportUndelivered(scope: PushContext, signal: AbortSignal): Promise<void> {
  const { db, account, options, recorder } = scope
  for (const { destination, state, behind } of await pushDestinations(db.read, account, scope.destinations)) {
    if (behind !== null && options.submissions === undefined) {
      const detail = `destination ${destination} is ${state}: change ${behind.seq} of ${behind.changedAt} and all later ones are not queued for it`
      await recorder.recordInBatches([await destinationFinding(db.read, scope, destination, 'changes', behind.seq, detail)])
    }
    for (const kind of STATES) await reportState(scope, destination, kind, signal)
  }
}

async function reportState(scope: PushContext, destination: string, kind: UndeliveredState, signal: AbortSignal): Promise<void> {
  const { db, account, runId, options, recorder } = scope
  const only = options.submissions && new Set(options.submissions)
  let listed = 0
  let more = 0
  for (let after = 0; ; ) {
    signal.throwIfAborted()
    const rows = await undeliveredAfter(db.read, destination, kind, after, PAGE, runId)
    const due = rows.filter((row) => row.overdue)
    const ofRun = due.filter((row) => row.account === account && (only === undefined || only.has(row.submission_id ?? '')))
    const withLostStream = options.dry_run === true ? [] : ofRun.filter((row) => row.stream_lost)
    if (withLostStream.length > 0)
      await reopenStreams(
        db,
        withLostStream.map(({ stream }) => ({ destination, account, stream })),
      )
    const shown = ofRun.slice(0, Math.max(0, MAX_LISTED - listed))
    await recorder.recordInBatches(shown.map((row) => findingOf(row, destination, kind)))
    listed += shown.length
    more += ofRun.length - shown.length
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE || due.length < rows.length) break
    after = last.outbox_id
    await turn()
  }
  if (more === 0) return
  const detail = `${more} more changes have not reached destination ${destination}; \`submission-mirror outbox list --destination ${destination}\` shows them`
  await recorder.recordInBatches([await destinationFinding(db.read, scope, destination, `sync_outbox ${kind}`, null, detail)])
}

function findingOf(row: Undelivered, destination: string, kind: UndeliveredState): NewFinding {
  const { submission_id: submissionId, entity, entity_id: entityId, seq, reported } = row
  const change = `${entity}.${row.operation}`
  const attempts = row.attempts === 1 ? '1 attempt' : `${row.attempts} attempts`
  // Omits the destination's answer, because all users can see findings. The outbox contains the answer.
  const because = row.error === null ? '' : `: ${withoutAnswer(row.error, row.status)}`
  const detail = {
    dead: `${change} was dead-lettered for ${destination} after ${attempts}${because}`,
    unknown: `${change} may have reached ${destination}${because}; check there, then skip or retry it`,
    ready: `${change} has been waiting for ${destination} since ${row.queued_at}${blockedText(row) ?? because}`,
  }[kind]
  return finding({
    kind: 'undelivered',
    submissionId,
    entity,
    entityId,
    destination,
    seq,
    known: reported,
    detail: detail.slice(0, 500),
  })
}

function blockedText({ stream_lost, blocked }: Undelivered): string | null {
  if (stream_lost) return ' (its stream was lost; the next run other than a dry run reopens it)'
  return blocked === null ? null : ` (${blocked})`
}

async function destinationFinding(
  q: Query,
  scope: PushContext,
  destination: string,
  entity: string,
  seq: number | null,
  detail: string,
): Promise<NewFinding> {
  const known = await isDestinationReported(q, { account: scope.account, destination, entity, seq }, scope.runId)
  return finding({ kind: 'undelivered', entity, destination, seq, known, detail })
}
