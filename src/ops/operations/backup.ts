import { dirname, join } from 'node:path'
import { z } from 'zod'
import { messageOf, PermanentError, UsageError } from '../../base/errors.ts'
import { backupSqlite, megabytes } from '../../store/backup/backup.ts'
import { factsText, lostText, namedFacts, sqliteFileOf } from '../actions/backup.ts'
import { progressLines } from '../output/backup-progress.ts'
import { ConflictError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
import { operation } from './operation.ts'

/** File name without a path. The ending `.db` excludes SQLite's other files, such as `mirror.db-wal`. */
const BACKUP_NAME = /^[A-Za-z0-9][\w.-]{0,195}\.db$/

const backup = operation({
  name: 'backup',
  summary: 'copy the SQLite database while it is in use, and verify the copy',
  description: 'The copy gets its name after it is complete and verified. The time depends on the size of the database.',
  role: 'admin',
  needs: 'settings',
  http: 'POST /backup',
  input: z.strictObject({
    file: z
      .string()
      .min(1)
      .max(4_096)
      .meta({
        description: 'path of the new file. Over HTTP, a file name ending in `.db`; the file is created next to the database',
        examples: ['backup-2026-11-22.db'],
      }),
  }),
  argument: 'file',
  output: record('Backup', {
    path: z.string(),
    bytes: z.int(),
    schema_version: z.int(),
    log_epoch: z.string(),
    first_seq: z.int().describe('oldest change in the change log'),
    last_seq: z.int(),
    lost: z.int().describe('missing numbers in the change log, as in the database itself'),
    rows: z.record(z.string(), z.int()).describe('row counts by table'),
  }),
  run: async (c, { file }) => {
    const source = sqliteFileOf(c.config.database)
    if (!c.isTerminal && !BACKUP_NAME.test(file))
      throw new UsageError(['file: must be a file name of letters, digits, ".", "_" and "-", ending in ".db"'])
    const path = c.isTerminal ? file : join(dirname(source), file)
    const { made } = await c.attempt({ action: 'backup', target: null, detail: { file } }, async () => {
      const made = await backupSqlite(source, path, c.signal, progressLines(10_000, c.announce)).catch((error: unknown) => {
        throw error instanceof PermanentError && !c.isTerminal ? new ConflictError([messageOf(error)]) : error
      })
      return { made, detail: { bytes: made.bytes } }
    })
    return { path: made.path, bytes: made.bytes, ...namedFacts(made.facts) }
  },
  print: (to, made) => {
    to.line(`Backed up to ${made.path}, ${megabytes(made.bytes)}: ${factsText(made)}.`)
    to.line('Verified: the file is intact, and every table has all rows of the database.')
    for (const line of lostText(made)) to.line(line)
  },
})

export const operations = [backup]
