import { z } from 'zod'
import { readStatus } from '../../status/status.ts'
import { answers } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'

const status = z
  .looseObject({
    version: z.string(),
    database: z.enum(['sqlite', 'postgres']),
    accounts: z.array(z.looseObject({ account: z.string(), state: z.string(), submissions: z.int() })),
    destinations: z.array(z.looseObject({ destination: z.string(), state: z.string().nullable(), queued: z.int() })),
    change_log: z.object({ first_seq: z.int(), last_seq: z.int() }),
    processes: z.array(z.looseObject({ process_id: z.string(), role: z.string(), version: z.string() })),
    warnings: z.array(z.string()).meta({ description: 'what an operator should look into, a sentence each' }),
  })
  .meta({ id: 'Status' })

const schema = {
  summary: 'how the mirror is: accounts, reads, freshness, inbox, change log, destinations',
  description: 'What `submission-mirror status --json` prints. On a large database this takes a moment.',
  tags: ['status'],
  response: answers('the status', status),
}

/** `GET /status` */
export function addStatus(api: Api, p: AdminParts): void {
  api.get('/status', { schema }, async () => status.parse(await readStatus(p.db, p.version, p.config())))
}
