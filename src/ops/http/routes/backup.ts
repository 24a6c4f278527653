import { dirname, join } from 'node:path'
import { z } from 'zod'
import { messageOf, PermanentError } from '../../../base/errors.ts'
import { backupSqlite } from '../../../store/backup/backup.ts'
import { auditAction } from '../../../store/operators/actions.ts'
import { namedFacts, sqliteFileOf } from '../../actions/backup.ts'
import { ConflictError } from '../../output/refusals.ts'
import { answersOfAction } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'

/** No path, and nothing that SQLite would take for a part of the database beside it. */
const FILE = /^[A-Za-z0-9][\w.-]{0,195}\.db$/

const backup = z
  .object({
    path: z.string(),
    bytes: z.int(),
    schema_version: z.int(),
    log_epoch: z.string(),
    first_seq: z.int().meta({ description: 'of the change log' }),
    last_seq: z.int(),
    lost: z.int().meta({ description: 'numbers of the change log that have no row, as in the database itself' }),
    rows: z.record(z.string(), z.int()).meta({ description: 'by table' }),
  })
  .meta({ id: 'Backup' })

const schema = {
  summary: 'SQLite: make a consistent copy of the database while it is worked on, and verify it',
  description: 'The copy gets its name in the folder of the database when it is whole and verified. It takes as long as the file is large.',
  tags: ['status'],
  body: z.strictObject({
    file: z
      .string()
      .regex(FILE, 'is no name for a backup: letters, digits, ".", "_" and "-", and ".db" at its end')
      .meta({ description: 'its name; there must be no such file yet', examples: ['backup-2026-11-22.db'] }),
  }),
  response: answersOfAction('the copy, verified', backup),
}

/** `POST /backup` */
export function addBackup(api: Api, p: AdminParts): void {
  api.post('/backup', { schema }, async ({ body: { file }, who }) => {
    const source = sqliteFileOf(p.config().database)
    const { made } = await auditAction(p.db, { who, action: 'backup', target: null, detail: { file } }, async () => {
      const made = await backupSqlite(source, join(dirname(source), file), p.signal).catch(refused)
      return { made, detail: { bytes: made.bytes } }
    })
    return { path: made.path, bytes: made.bytes, ...namedFacts(made.facts) }
  })
}

/** That no copy can be made now, such as for want of room, is no fault of the program. */
function refused(error: unknown): never {
  throw error instanceof PermanentError ? new ConflictError([messageOf(error)]) : error
}
