import type { Migration } from '../src/store/schema/migration.ts'
import { changeLog } from './0001-change-log.ts'
import { mirror } from './0002-mirror.ts'
import { inbox } from './0003-inbox.ts'
import { reads } from './0004-reads.ts'
import { push } from './0005-push.ts'
import { reconcile } from './0006-reconcile.ts'
import { operations } from './0007-operations.ts'
import { views } from './0008-views.ts'
import { statusViews } from './0009-status-views.ts'

/**
 * Every step of the schema, in order. A step that was released is never changed: databases keep its hash. So its tables are written out here and
 * not made from the descriptors, which change; tests hold the two against each other.
 */
export const migrations: readonly Migration[] = [changeLog, mirror, inbox, reads, push, reconcile, operations, views, statusViews]
