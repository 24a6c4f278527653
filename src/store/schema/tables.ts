import type { Generated } from 'kysely'
import { entities } from '../../model/entities.ts'
import type { RowOf } from '../../model/entity.ts'
import * as boards from './boards.ts'
import * as completeness from './completeness.ts'
import * as documents from './documents.ts'
import * as inbox from './inbox.ts'
import * as log from './log.ts'
import * as operators from './operators.ts'
import * as overview from './overview.ts'
import * as push from './push.ts'
import * as reads from './reads.ts'
import * as reconcile from './reconcile.ts'
import { type Relation, relationOf, type TableOf } from './table.ts'
import * as upkeep from './upkeep.ts'

/** Public tables other than those of service data, then views, in the order of the data dictionary. */
const publicRelations = [
  reads.extraReads,
  log.changes,
  log.mirrorInfo,
  push.pushMap,
  operators.operatorActions,
  reconcile.reconcileRuns,
  reconcile.reconcileFindings,
  completeness.arrivalCounts,
  operators.alarms,
  operators.alarmHistory,
  reads.knownIds,
  reads.freshness,
  overview.submissionOverview,
  overview.activityTimeline,
  boards.laneBoard,
  boards.laneLines,
  boards.quoteBoard,
  boards.bindBoard,
  boards.openItems,
  documents.documentIndex,
  boards.policyBoard,
  log.logEpochs,
  push.pushStatus,
  push.pushVerifications,
  completeness.arrivals,
  completeness.completeness,
  completeness.accountCompleteness,
] as const

const ownTables = [
  inbox.syncInbox,
  inbox.syncRejected,
  reads.syncReads,
  reads.syncAccounts,
  completeness.syncArrivals,
  overview.syncRecordCounts,
  overview.syncSearchWords,
  documents.syncDocuments,
  documents.syncSharedDocuments,
  reads.syncReadsOff,
  reads.syncPathReads,
  completeness.syncConflicts,
  completeness.syncUnreadable,
  upkeep.syncProcesses,
  upkeep.syncProcessSettings,
  upkeep.syncCounters,
  push.syncDestinations,
  push.syncOutbox,
  push.syncPushStreams,
  push.syncRemoteIds,
  push.syncPushTokens,
  reconcile.syncReconcile,
  reconcile.syncReconciled,
  reads.syncLastUses,
  inbox.syncRejectedConnections,
  inbox.syncDifferingDeliveries,
  operators.syncAlertMessages,
  operators.syncAlarmWatch,
  upkeep.syncUpkeep,
  operators.syncConsoleSessions,
  upkeep.syncFigures,
  upkeep.syncSums,
  reads.syncApiChanges,
  reads.syncPurged,
  inbox.syncInboxLeft,
  log.syncLogEpochs,
  push.syncPassed,
  push.syncRestatements,
  push.syncPushVerifications,
  log.syncMigrations,
] as const

/** All public tables, then all views. */
export const relations: readonly Relation[] = [...entities.map(relationOf), ...publicRelations]

export const internalTables: readonly Relation[] = ownTables

type TablesOf<Relations extends readonly Relation[]> = { [R in Relations[number] as R['name']]: TableOf<R> }

type MirrorTables = { [E in (typeof entities)[number] as E['table']]: RowOf<E> }

/** Types of the rows of all tables and views, for kysely. migrations/README.md describes the tables. */
export interface Tables extends MirrorTables, TablesOf<typeof publicRelations>, TablesOf<typeof ownTables> {}

/** Type of a row with only some of a table's columns, as a query returns it. */
export type Columns<T extends keyof Tables, C extends keyof Tables[T]> = {
  readonly [K in C]: Tables[T][K] extends Generated<infer V> ? V : Tables[T][K]
}
