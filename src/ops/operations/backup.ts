import { dirname, join } from 'node:path'
import { z } from 'zod'
import { messageOf, PermanentError, UsageError } from '../../base/errors.ts'
import { backupSqlite, megabytes } from '../../store/backup/backup.ts'
import { factsText, lostText, namedFacts, sqliteFileOf } from '../actions/backup.ts'
import { ConflictError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
import { operation } from './operation.ts'

/** No path, and nothing that SQLite would take for a part of the database beside it. */
const BESIDE = /^[A-Za-z0-9][\w.-]{0,195}\.db$/

const backup = operation({
  name: 'backup',
  summary: 'make a consistent copy of the SQLite database while it is worked on, and verify it',
  description: 'The copy gets its name when it is whole and verified. It takes as long as the file is large.',
  role: 'admin',
  needs: 'settings',
  http: 'POST /backup',
  input: z.strictObject({
    file: z
      .string()
      .min(1)
      .max(4_096)
      .meta({
        description: 'where to; it must not exist yet. Over HTTP its name alone, ending in `.db`: it lies beside the database',
        examples: ['backup-2026-11-22.db'],
      }),
  }),
  argument: 'file',
  output: record('Backup', {
    path: z.string(),
    bytes: z.int(),
    schema_version: z.int(),
    log_epoch: z.string(),
    first_seq: z.int().describe('of the change log'),
    last_seq: z.int(),
    lost: z.int().describe('numbers of the change log that have no row, as in the database itself'),
    rows: z.record(z.string(), z.int()).describe('by table'),
  }),
  run: async (c, { file }) => {
    const source = sqliteFileOf(c.config.database)
    if (!c.isTerminal && !BESIDE.test(file))
      throw new UsageError(['file: is no name for a backup: letters, digits, ".", "_" and "-", and ".db" at its end'])
    const path = c.isTerminal ? file : join(dirname(source), file)
    const { made } = await c.attempt({ action: 'backup', target: null, detail: { file } }, async () => {
      const made = await backupSqlite(source, path, c.signal).catch(c.isTerminal ? failed : refused)
      return { made, detail: { bytes: made.bytes } }
    })
    return { path: made.path, bytes: made.bytes, ...namedFacts(made.facts) }
  },
  print: (to, made) => {
    to.line(`backed up to ${made.path}, ${megabytes(made.bytes)}: ${factsText(made)}`)
    to.line('verified: its structure is sound, and every table has the rows that the database had')
    for (const line of lostText(made)) to.line(line)
  },
})

function failed(error: unknown): never {
  throw error
}

/** That no copy can be made now, such as for want of room, is no fault of the program. */
function refused(error: unknown): never {
  throw error instanceof PermanentError ? new ConflictError([messageOf(error)]) : error
}

/** `backup` */
export const operations = [backup]
