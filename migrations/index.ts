import type { Migration } from '../src/store/schema/migration.ts'
import { mirror } from './0001-mirror.ts'
import { inlineBodies } from './0002-inline-bodies.ts'
import { push } from './0003-push.ts'
import { reconcile } from './0004-reconcile.ts'
import { completeness } from './0005-completeness.ts'
import { operations } from './0006-operations.ts'
import { alarms } from './0007-alarms.ts'
import { retention } from './0008-retention.ts'
import { webhookSecrets } from './0009-webhook-secrets.ts'
import { lostChanges } from './0010-lost-changes.ts'
import { pushMapByHand } from './0011-push-map-by-hand.ts'
import { completenessByKey } from './0012-completeness-by-key.ts'
import { lookupsByIndex } from './0013-lookups-by-index.ts'
import { timelineGone } from './0014-timeline-gone.ts'
import { mirrorLookups } from './0015-mirror-lookups.ts'
import { countedViews } from './0016-counted-views.ts'
import { outboxLookups } from './0017-outbox-lookups.ts'
import { inboxLookups } from './0018-inbox-lookups.ts'
import { inboxWorked } from './0019-inbox-worked.ts'
import { readiness } from './0020-readiness.ts'
import { logEpochs } from './0021-log-epochs.ts'
import { retentionWaits } from './0022-retention-waits.ts'
import { hostileSenders } from './0023-hostile-senders.ts'
import { purged } from './0024-purged.ts'
import { stateReads } from './0025-state-reads.ts'
import { knownIds } from './0026-known-ids.ts'
import { openItems } from './0027-open-items.ts'
import { documents } from './0028-documents.ts'
import { readsOff } from './0029-reads-off.ts'
import { consoleSessions } from './0030-console-sessions.ts'
import { extraReads } from './0031-extra-reads.ts'
import { coverage } from './0032-coverage.ts'
import { contentHashes } from './0033-content-hashes.ts'
import { submissionSearch } from './0034-submission-search.ts'
import { figures } from './0035-figures.ts'
import { resends } from './0036-resends.ts'
import { oidcSessions } from './0037-oidc-sessions.ts'
import { alarmHistory } from './0038-alarm-history.ts'
import { interfaceDrift } from './0039-interface-drift.ts'
import { credentialUses } from './0040-credential-uses.ts'

/** Every step of the schema, in order. A step that was released is never changed. */
export const migrations: readonly Migration[] = [
  mirror,
  inlineBodies,
  push,
  reconcile,
  completeness,
  operations,
  alarms,
  retention,
  webhookSecrets,
  lostChanges,
  pushMapByHand,
  completenessByKey,
  lookupsByIndex,
  timelineGone,
  mirrorLookups,
  countedViews,
  outboxLookups,
  inboxLookups,
  inboxWorked,
  readiness,
  logEpochs,
  retentionWaits,
  hostileSenders,
  purged,
  stateReads,
  knownIds,
  openItems,
  documents,
  readsOff,
  consoleSessions,
  extraReads,
  coverage,
  contentHashes,
  submissionSearch,
  figures,
  resends,
  oidcSessions,
  alarmHistory,
  interfaceDrift,
  credentialUses,
]
