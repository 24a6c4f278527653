import { setImmediate as turn } from 'node:timers/promises'
import type { Db, Query } from '../../store/engine/db.ts'
import {
  isDestinationReported,
  pushDestinations,
  reopenLanes,
  type Undelivered,
  type UndeliveredState,
  undeliveredAfter,
} from '../../store/reconcile/pushes.ts'
import type { RunOptions } from '../../store/schema/tables-reconcile.ts'
import { type FoundDifference, finding } from '../check/finding.ts'
import type { Recorder } from '../check/recorder.ts'

const PAGE = 500
/** More than this of one destination and kind are not listed one by one. */
const LISTED = 1_000
const STATES: readonly UndeliveredState[] = ['dead', 'unknown', 'ready']

export interface PushScope {
  readonly db: Db
  readonly account: string
  readonly runId: string
  readonly options: RunOptions
  /** Names of those of the settings. */
  readonly destinations: readonly string[]
  readonly recorder: Recorder
}

/** Reports the changes of an account that are not known to have reached a destination. */
export async function reportUndelivered(scope: PushScope, signal: AbortSignal): Promise<void> {
  const { db, account, options, recorder } = scope
  for (const { destination, state, behind } of await pushDestinations(db.read, account, scope.destinations)) {
    if (behind !== null && options.submissions === undefined) {
      const detail = `destination ${destination} is ${state}, and change ${behind.seq} of ${behind.changedAt} and what came after it are not even queued for it`
      await recorder.keepAlone([await wholeDestination(db.read, scope, destination, 'changes', behind.seq, detail)])
    }
    for (const kind of STATES) await reportKind(scope, destination, kind, signal)
  }
}

async function reportKind(scope: PushScope, destination: string, kind: UndeliveredState, signal: AbortSignal): Promise<void> {
  const { db, account, runId, options, recorder } = scope
  const only = options.submissions && new Set(options.submissions)
  let listed = 0
  let more = 0
  for (let after = 0; ; ) {
    signal.throwIfAborted()
    const rows = await undeliveredAfter(db.read, destination, kind, after, PAGE, runId)
    const due = rows.filter((row) => row.overdue)
    const mine = due.filter((row) => row.account === account && (only === undefined || only.has(row.submission_id ?? '')))
    const lost = options.dry_run === true ? [] : mine.filter((row) => row.lane_lost)
    if (lost.length > 0)
      await reopenLanes(
        db,
        lost.map(({ lane }) => ({ destination, account, lane })),
      )
    const shown = mine.slice(0, Math.max(0, LISTED - listed))
    await recorder.keepAlone(shown.map((row) => findingOf(row, destination, kind)))
    listed += shown.length
    more += mine.length - shown.length
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE || due.length < rows.length) break
    after = last.outbox_id
    await turn()
  }
  if (more === 0) return
  const detail = `${more} more changes have not reached destination ${destination}; \`submission-mirror outbox list --destination ${destination}\` shows them`
  await recorder.keepAlone([await wholeDestination(db.read, scope, destination, `sync_outbox ${kind}`, null, detail)])
}

function findingOf(row: Undelivered, destination: string, kind: UndeliveredState): FoundDifference {
  const { submission_id: submissionId, entity, entity_id: entityId, seq, reported } = row
  const change = `${entity}.${row.operation}`
  const because = row.error === null ? '' : `: ${row.error}`
  const detail = {
    dead: `${change} was given up for ${destination} after ${row.attempts} tries${because}`,
    unknown: `nobody knows whether ${change} reached ${destination}${because}; look there, then skip or retry it`,
    ready: `${change} waits for ${destination} since ${row.queued_at}${waitsFor(row) ?? because}`,
  }[kind]
  return finding({
    kind: 'undelivered',
    submissionId,
    entity,
    entityId,
    destination,
    seq,
    standing: reported,
    detail: detail.slice(0, 500),
  })
}

function waitsFor({ lane_lost, blocked }: Undelivered): string | null {
  if (lane_lost) return ' (its lane was lost)'
  return blocked === null ? null : ` (${blocked})`
}

async function wholeDestination(
  q: Query,
  scope: PushScope,
  destination: string,
  entity: string,
  seq: number | null,
  detail: string,
): Promise<FoundDifference> {
  const standing = await isDestinationReported(q, { account: scope.account, destination, entity, seq }, scope.runId)
  return finding({ kind: 'undelivered', entity, destination, seq, standing, detail })
}
