import { z } from 'zod'
import { readStatus } from '../../status/status.ts'
import { answers } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'

const need = z.object({
  kind: z.string(),
  what: z.string(),
  since: z.string().nullable(),
  count: z.int(),
  mend: z.union([z.object({ command: z.string() }), z.object({ runbook: z.string() })]),
})

const status = z
  .looseObject({
    verdict: z.enum(['complete', 'catching_up', 'attention']).meta({ description: 'what the mirror is judged to be' }),
    sentence: z.string().meta({ description: 'the verdict and its reasons, for people' }),
    needs: z.array(need).meta({ description: 'what needs a person; empty unless the verdict is `attention`' }),
    version: z.string(),
    database: z.enum(['sqlite', 'postgres']),
    accounts: z.array(z.looseObject({ account: z.string(), state: z.string(), submissions: z.int() })),
    destinations: z.array(z.looseObject({ destination: z.string(), state: z.string().nullable(), queued: z.int() })),
    replication: z
      .looseObject({ servers: z.int(), synchronous_standby_names: z.string() })
      .nullable()
      .meta({ description: 'on how many Postgres servers an acknowledged delivery lies, with standbys and slots; null on SQLite' }),
    change_log: z.object({ first_seq: z.int(), last_seq: z.int() }),
    clocks: z.object({
      apart: z
        .array(z.object({ clock: z.string(), ahead_ms: z.int() }))
        .meta({ description: "how far this machine's clock is ahead of each" }),
      waits: z.array(z.string()).meta({ description: 'what waits for that, or for an operator' }),
    }),
    processes: z.array(z.looseObject({ process_id: z.string(), role: z.string(), version: z.string() })),
    warnings: z.array(z.string()).meta({ description: 'what an operator should look into, a sentence each' }),
  })
  .meta({ id: 'Status' })

const schema = {
  summary: 'whether the mirror is complete and fresh, what needs a person, and accounts, reads, freshness, inbox, change log, destinations',
  description: 'What `submission-mirror status --json` prints. On a large database this takes a moment.',
  tags: ['status'],
  response: answers('the status', status),
}

/** `GET /status` */
export function addStatus(api: Api, p: AdminParts): void {
  api.get('/status', { schema }, async () => status.parse(await readStatus(p.db, p.version, p.config())))
}
