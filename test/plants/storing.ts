import { simulated } from '../simulation/plants.ts'
import type { Plants } from './plant.ts'

/** The change log, upkeep, backup, migrations. */
export const storing: Plants = {
  'the change log skips a number': { ...simulated['the change log skips a number'], foundBy: ['store/changes/change-log.test.ts'] },
  'changes of a transaction are numbered from the last, on Postgres': {
    file: 'store/changes/change-log.ts',
    edits: [['select counter.last_seq - ${sql.lit(changes.length)} + place,', 'select counter.last_seq + 1 - place,']],
    foundBy: ['store/changes/change-log.test.ts'],
  },
  'a copy leaves a table out': {
    file: 'store/backup/copied-tables.ts',
    edits: [["'sync_copy', 'sync_push_tokens'", "'sync_copy', 'sync_push_tokens', 'push_map'"]],
    foundBy: ['store/backup/copy.test.ts'],
  },
  'an index of the inbox is missing': {
    file: '../migrations/0003-inbox.ts',
    edits: [
      [
        '`create index sync_inbox_submission on sync_inbox (account, submission_id${id}) where submission_id is not null`',
        '`create index sync_inbox_submission on sync_inbox (account${id}) where submission_id is not null`',
      ],
    ],
    foundBy: ['store/lookup-plans.test.ts'],
  },
  'what a clock that ran ahead has put off stays put off': {
    file: 'store/upkeep/set-back.ts',
    edits: [['const earlier = timePlus(q, time, -backMs)', 'const earlier = timePlus(q, time, 0)']],
    foundBy: ['store/upkeep/set-back.test.ts', 'ops/clocks/set-back-watch.test.ts'],
  },
  'retention removes what may still be sent': {
    file: 'store/upkeep/retention.ts',
    edits: [["state in ('delivered', 'skipped') and ${isBefore", "state in ('delivered', 'skipped', 'dead') and ${isBefore"]],
    foundBy: ['ops/retention/retention.test.ts'],
  },
  'retention removes changes that a destination has still to get': {
    file: 'store/upkeep/needed-changes.ts',
    edits: [['if (destinations.includes(destination)) oldest = Math.min(oldest, cursor + 1)\n', 'void cursor\n']],
    foundBy: ['ops/retention/retention.test.ts'],
  },
  'tax ids stay in rejected deliveries': {
    file: 'store/upkeep/protect.ts',
    edits: [
      [
        "const BODIES = ['sync_inbox', 'sync_rejected'] as const",
        "const BODIES: readonly ('sync_inbox' | 'sync_rejected')[] = ['sync_inbox']",
      ],
    ],
    foundBy: ['ops/protect/protect.test.ts'],
  },
  'a purge leaves the change log as it is': {
    file: 'ops/actions/purge.ts',
    edits: [['await untilDone(a, (after) => purgeChanges(a.db, all, after))\n', '']],
    foundBy: ['ops/actions/purge.test.ts'],
  },
  'what an interrupted purge began is forgotten': {
    file: 'store/mirror/purge.ts',
    edits: [[".where('finished_at', 'is', null)", ".where('purged_at', 'is', null)"]],
    foundBy: ['ops/actions/purge.test.ts'],
  },
  'the log of a database that is missing meets the restored one': {
    file: 'store/backup/restore.ts',
    edits: [
      [
        'if (isThere) linkOrRename(path, previous)',
        'if (!isThere) return { previous: null, leftovers: [] }\n  linkOrRename(path, previous)',
      ],
    ],
    foundBy: ['store/backup/backup.test.ts'],
  },
  'documents of another mirror are swept as leftovers': {
    file: 'documents/storage/storage.ts',
    edits: [['if (found === null) return null', "if (found === null || place !== '') return null"]],
    foundBy: ['documents/fetch/sweeper.test.ts'],
  },
  'an action that failed is noted as done': {
    file: 'store/operators/actions.ts',
    edits: [
      ["        await insertNote(tx, note, 'done')\n        return await work(tx)", '        return await work(tx)'],
      [
        'return db.write(name, noted, options)',
        "return db.write(name, (tx) => insertNote(tx, note, 'done')).then(() => db.write(name, noted, options))",
      ],
    ],
    foundBy: ['ops/http/routes/actions.test.ts', 'ops/actions/destinations.test.ts'],
  },
  'a session of the console outlives its longest time': {
    file: 'store/operators/console-sessions.ts',
    edits: [['(began_at < ${dbTime(q, -maxMs)} or seen_at', '(seen_at']],
    foundBy: ['ops/http/session.test.ts'],
  },
  'a session of the console ends in the wrong unit, on Postgres': {
    file: 'store/engine/sql.ts',
    edits: [["${plus}::float8 * interval '1 millisecond'", "${plus}::float8 * interval '1 second'"]],
    foundBy: ['store/operators/operators.test.ts'],
  },
  'a webhook counts as lost although it came': {
    file: 'store/operators/alarm-queries.ts',
    edits: [
      [
        "and announced.record_id = seen.record_id and announced.way = 'webhook')`",
        "and announced.record_id = seen.record_id and announced.way = 'none')`",
      ],
    ],
    foundBy: ['ops/metrics/lost-webhooks.test.ts'],
  },
}
