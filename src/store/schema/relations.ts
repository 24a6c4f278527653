import { entities } from '../../model/entities.ts'
import { bindBoard, laneBoard, laneLines, quoteBoard } from './relations/boards.ts'
import { accountCompleteness, arrivalCounts, arrivals, completeness } from './relations/completeness.ts'
import { documentIndex } from './relations/documents.ts'
import { extraReads } from './relations/extra-reads.ts'
import { knownIds } from './relations/known-ids.ts'
import { changes, logEpochs, mirrorInfo } from './relations/log.ts'
import { openItems } from './relations/open-items.ts'
import { alarmHistory, alarms, operatorActions } from './relations/operations.ts'
import { policyBoard } from './relations/policy-board.ts'
import { pushMap, pushStatus } from './relations/push.ts'
import { reconcileFindings, reconcileRuns } from './relations/reconcile.ts'
import { type Relation, relationOf } from './relations/relation.ts'
import { activityTimeline, freshness, submissionOverview } from './relations/views.ts'

/** Every public table, then every view, in the order of the data dictionary. */
export const relations: readonly Relation[] = [
  ...entities.map(relationOf),
  extraReads,
  changes,
  mirrorInfo,
  pushMap,
  operatorActions,
  reconcileRuns,
  reconcileFindings,
  arrivalCounts,
  alarms,
  alarmHistory,
  knownIds,
  freshness,
  submissionOverview,
  activityTimeline,
  laneBoard,
  laneLines,
  quoteBoard,
  bindBoard,
  openItems,
  documentIndex,
  policyBoard,
  logEpochs,
  pushStatus,
  arrivals,
  completeness,
  accountCompleteness,
]
